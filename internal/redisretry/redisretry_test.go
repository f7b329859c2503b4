package redisretry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A redisError is an error reply of a server.
type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

// Errors of a server that starts, fails over or is busy go away; a refusal stays; an error that is
// not an answer of the server is doubt.
func TestFinal(t *testing.T) {
	for text, want := range map[string]bool{
		"LOADING Redis is loading the dataset in memory": false, "READONLY You can't write against a read only replica.": false,
		"MASTERDOWN Link with MASTER is down": false, "CLUSTERDOWN The cluster is down": false, "TRYAGAIN Multiple keys request during rehashing": false,
		"MOVED 3999 127.0.0.1:6381": false, "ASK 3999 127.0.0.1:6381": false, "BUSY Redis is busy running a script": false, "NOSCRIPT No matching script": false,
		"UNBLOCKED client unblocked via CLIENT UNBLOCK": false,
		"NOPERM this user has no permissions":           true, "OOM command not allowed": true, "WRONGTYPE Operation against a key": true,
	} {
		if got := Final(redisError(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if Final(errors.New("i/o timeout")) {
		t.Error("a timeout is taken for the server's answer")
	}
}

var (
	errTimeout = errors.New("i/o timeout")
	errRefused = redisError("NOPERM no rights")
)

// Requests are repeated with growing pauses until there is an answer, a final error, or no time
// left; in the last case the last error is returned.
func TestDo(t *testing.T) {
	p := Policy{First: 10 * time.Millisecond, Longest: 20 * time.Millisecond, Total: time.Second}
	for name, c := range map[string]struct {
		replies []error // in order; the last one is repeated
		want    error
		sent    int // 0: more than three times
	}{
		"answered at once":      {[]error{nil}, nil, 1},
		"answered later":        {[]error{errTimeout, redisError("LOADING"), nil}, nil, 3},
		"refused":               {[]error{errRefused}, errRefused, 1},
		"refused later":         {[]error{errTimeout, errRefused}, errRefused, 2},
		"never answered":        {[]error{errTimeout}, errTimeout, 0},
		"the policy's own word": {[]error{context.Canceled}, context.Canceled, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			p.Final = func(err error) bool { return errors.Is(err, context.Canceled) || Final(err) }
			sent, began := 0, time.Now()
			answer, err := Do(t.Context(), p, func() (int, error) {
				err := c.replies[min(sent, len(c.replies)-1)]
				sent++
				return sent, err
			})
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || answer != sent {
				t.Errorf("%s: %d, %v, want %d, %v", name, answer, err, sent, c.want)
			}
			if c.sent > 0 && sent != c.sent || c.sent == 0 && sent <= 3 || time.Since(began) > p.Total {
				t.Errorf("%s: sent %d times in %v", name, sent, time.Since(began))
			}
		})
	}
}

// When the end of the context cuts a request off, the error before it is returned. An answer that comes at that
// end, or a final error, counts.
func TestDoIsCutOff(t *testing.T) {
	for _, c := range []struct{ last, want error }{{context.DeadlineExceeded, errTimeout}, {nil, nil}, {errRefused, errRefused}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer stop()
			sent := 0
			_, err := Do(ctx, Policy{First: time.Millisecond, Total: time.Minute}, func() (int, error) {
				if sent++; sent < 4 {
					return 0, errTimeout
				}
				<-ctx.Done()
				return 0, c.last
			})
			if !errors.Is(err, c.want) || sent != 4 {
				t.Errorf("after %d requests, the last of them with %v, the error is %v, want %v after 4", sent, c.last, err, c.want)
			}
		})
	}
}
