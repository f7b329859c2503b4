package sqllock_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// A grant that was waited for is trusted from before its request was sent, not from when the reply
// came: the replies are late in this test, and the time until then is not part of the lease.
func TestTrustFromBeforeTheReply(t *testing.T) {
	const late = 100 * time.Millisecond
	each(t, func(t *testing.T, on database) {
		clean := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
		db, l := on.lossyOn(t)
		slow := newDriver(t, db, on.dialect, sqllock.Options{})
		l.Late.Store(int64(late))
		for name, from := range map[string]*sqllock.Driver{"free": nil, "handed on": clean, "handed on in the process": slow} {
			s := &stage{T: t, d: from, key: name}
			if from != nil {
				s.acquire("m/1")
			}
			early := make(chan time.Duration, 1)
			go func() {
				g, err := slow.Wait(t.Context(), driver.Acquisition{Key: name, Owner: "n/1", TTL: minute})
				if err != nil {
					t.Error(err)
				}
				early <- time.Since(g.Asked)
			}()
			if from != nil {
				eventually(t, "the waiter has a place", func() bool {
					at, err := clean.Inspect(t.Context(), name)
					return err == nil && at.Waiting == 1
				})
				s.release()
			}
			if got := <-early; got < late || got > minute {
				t.Errorf("%s: the trust counts from %v before the answer, want %v or more", name, got, late)
			}
		}
	})
}
