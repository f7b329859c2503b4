package lock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// Options are refused by the name of the first that is out of its bounds; the zero value
// is in them.
func TestOptionsValidate(t *testing.T) {
	for _, c := range []struct {
		options lock.Options
		want    string
	}{
		{lock.Options{}, ""},
		{lock.Options{TTL: driver.MinTTL, Limit: lock.NoLimit, Replicas: driver.MaxReplicas, Note: "why"}, ""},
		{lock.Options{TTL: driver.MinTTL - 1}, "TTL"},
		{lock.Options{TTL: -time.Second}, "TTL"},
		{lock.Options{Limit: -1}, "limit"},
		{lock.Options{Replicas: driver.MaxReplicas + 1}, "replicas"},
		{lock.Options{Note: "a|b"}, "note"},
	} {
		err := c.options.Validate()
		if c.want == "" {
			wantErr(t, "valid options", err, nil)
			continue
		}
		if bad, is := errors.AsType[*lock.ArgumentError](err); !is || bad.Argument != c.want {
			t.Errorf("%+v: %v, want the argument %s", c.options, err, c.want)
		}
	}
}

// The words of a refused limit name the option, its value, and both ends of the allowed range.
func TestLimitWords(t *testing.T) {
	const want = "lock: limit is -1, must be 0 or 1 (alone) to NoLimit, 2147483647 (any number)"
	if err := (lock.Options{Limit: -1}).Validate(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
