package history_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/test/history"
)

// Holds are compared at exact instants: two holds that only touch can follow each other.
func TestCheckHolds(t *testing.T) {
	const ttl, late = 500, 100
	granted := func(limit int, fence, call, answered, ending, ended int64) history.Hold {
		return history.Hold{Key: "k", Limit: limit, Call: call, Return: answered, Outcome: history.OK, Fence: fence, Ending: ending, Ended: ended, End: history.OK}
	}
	refused := func(limit int, call, answered int64) history.Hold {
		return history.Hold{Key: "k", Limit: limit, Try: true, Call: call, Return: answered, Outcome: history.Held}
	}
	with := func(h history.Hold, change func(*history.Hold)) history.Hold { change(&h); return h }
	lost := func(h *history.Hold) { h.End = history.Lost }
	left := func(h *history.Hold) { h.End = history.Unknown }
	for name, c := range map[string]struct {
		holds []history.Hold
		fine  bool
	}{
		"one after the other":                  {[]history.Hold{granted(1, 1, 0, 1, 10, 20), granted(1, 2, 15, 21, 30, 31)}, true},
		"one before the other's release":       {[]history.Hold{granted(1, 1, 0, 1, 10, 20), granted(1, 2, 5, 9, 30, 31)}, false},
		"a release and a grant may cross":      {[]history.Hold{granted(1, 1, 0, 1, 10, 20), granted(1, 2, 5, 10, 30, 31)}, true},
		"readers":                              {[]history.Hold{granted(lock.NoLimit, 1, 0, 1, 30, 31), granted(lock.NoLimit, 2, 2, 3, 30, 31)}, true},
		"a reader beside a writer":             {[]history.Hold{granted(lock.NoLimit, 1, 0, 1, 30, 31), granted(1, 2, 2, 3, 30, 31)}, false},
		"two of two permits":                   {[]history.Hold{granted(2, 1, 0, 1, 30, 31), granted(2, 2, 2, 3, 30, 31)}, true},
		"three of two permits":                 {[]history.Hold{granted(2, 1, 0, 1, 30, 31), granted(2, 2, 2, 3, 30, 31), granted(2, 3, 4, 5, 30, 31)}, false},
		"a fence as high":                      {[]history.Hold{granted(1, 1, 0, 1, 2, 3), granted(1, 1, 4, 5, 6, 7)}, false},
		"refused while held":                   {[]history.Hold{granted(1, 1, 0, 1, 10, 11), refused(1, 2, 3)}, true},
		"refused while a request is answered":  {[]history.Hold{granted(1, 1, 0, 9, 10, 11), refused(1, 2, 3)}, true},
		"refused before the key was held":      {[]history.Hold{granted(1, 1, 4, 9, 10, 11), refused(1, 2, 3)}, false},
		"refused though permits are free":      {[]history.Hold{granted(2, 1, 0, 1, 10, 11), refused(2, 2, 3)}, false},
		"another after a lease that was lost":  {[]history.Hold{with(granted(1, 1, 0, 1, 600, 601), lost), granted(1, 2, 500, 501, 502, 503)}, true},
		"another before its TTL was over":      {[]history.Hold{with(granted(1, 1, 0, 1, 600, 601), lost), granted(1, 2, 400, 499, 502, 503)}, false},
		"refused while one is left to its end": {[]history.Hold{with(granted(1, 1, 0, 1, 10, 10), left), refused(1, 600, 610)}, true},
		"refused after its end":                {[]history.Hold{with(granted(1, 1, 0, 1, 10, 10), left), refused(1, 611, 612)}, false},
	} {
		err := history.CheckHolds(c.holds, ttl*time.Nanosecond, late*time.Nanosecond)
		if (err == nil) != c.fine || err != nil && !history.Refuted(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
