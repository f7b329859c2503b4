package lock_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cronce/cronce/lock"
)

// What is no token is refused, and not repeated in the error. So are the options that an
// adoption does not have.
func TestAdoptRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(newFaulty(), "a")
		lease := acquire(t, l, "k", lock.Options{})
		token := lease.Token()
		encoded := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
		for _, bad := range []string{
			"", "secret", token + "=", token + " ", token[:len(token)/2], strings.Repeat("x", 1001),
			encoded("2|1|1|n/1|k"), encoded("1|0|1|n/1|k"), encoded("1|x|1|n/1|k"), encoded("1|1|-1|n/1|k"), encoded("1|1|1||k"),
			encoded("1|1|1|n/1|"), encoded("1|1|1|n/1|a\x1b"), encoded("1|9007199254740993|1|n/1|k"),
		} {
			_, err := l.Adopt(t.Context(), bad, lock.Options{})
			e, is := errors.AsType[*lock.ArgumentError](err)
			if !is || e.Argument != "token" || len(bad) > 5 && strings.Contains(err.Error(), bad) {
				t.Errorf("%q: %v, want an error that names the token and does not repeat it", bad, err)
			}
		}
		for _, o := range []lock.Options{{Limit: 2}, {Barge: true}, {Reenter: true}, {Replicas: 1}} {
			_, err := l.Adopt(t.Context(), token, o)
			if e, is := errors.AsType[*lock.ArgumentError](err); !is || e.Argument != "options" {
				t.Errorf("%+v: %v, want an error that names the options", o, err)
			}
		}
		wantErr(t, "check", lease.Check(), nil)
		wantErr(t, "release", lease.Release(t.Context()), nil)
	})
}
