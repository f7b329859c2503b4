package scheduler

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
)

// How late a first attempt may start: jitter comes on top of every deadline.
func TestStartWithin(t *testing.T) {
	t.Parallel()
	const jitter = 20 * time.Second
	for name, test := range map[string]struct {
		rules    rules
		interval time.Duration
		within   time.Duration
		reason   string
	}{
		"the interval":                        {rules{}, time.Minute, time.Minute, lock.ReasonDeadline},
		"a second at least":                   {rules{}, 999 * time.Millisecond, time.Second, lock.ReasonDeadline},
		"an hour at most":                     {rules{}, time.Hour + 1, time.Hour, lock.ReasonDeadline},
		"as long as it is given":              {rules{deadline: 2 * time.Hour}, time.Minute, 2 * time.Hour, lock.ReasonDeadline},
		"misfire skip: a second":              {rules{misfire: MisfireSkip}, time.Minute, time.Second, lock.ReasonMisfire},
		"misfire all: ten intervals":          {rules{misfire: MisfireAll}, time.Minute, 10 * time.Minute, lock.ReasonDeadline},
		"misfire all: ten seconds at least":   {rules{misfire: MisfireAll}, time.Millisecond, 10 * time.Second, lock.ReasonDeadline},
		"misfire all: no hour bounds it":      {rules{misfire: MisfireAll}, 24 * time.Hour, 240 * time.Hour, lock.ReasonDeadline},
		"misfire all, as long as it is given": {rules{misfire: MisfireAll, deadline: time.Hour}, time.Minute, time.Hour, lock.ReasonDeadline},
	} {
		for _, j := range []time.Duration{0, jitter} {
			test.rules.jitter = j
			if within, reason := test.rules.startWithin(test.interval); within != test.within+j || reason != test.reason {
				t.Errorf("%s, jitter %v: %v, %s; want %v, %s", name, j, within, reason, test.within+j, test.reason)
			}
		}
	}
}

// A node that starts at ms hands out next what is not due by then: at the very end of
// a tick's jitter that tick is due.
func TestStartAtTheEndOfJitter(t *testing.T) {
	t.Parallel()
	const minute = 60_000
	e := entryOf(t, "* * * * *", 40*time.Second)
	for tick := int64(5 * minute); tick < 50*minute; tick += minute {
		due := e.dueAt(tick)
		for _, test := range []struct{ at, prev int64 }{{tick, tick - minute}, {due - 1, tick - minute}, {due, tick}, {due + 1, tick}, {tick + minute - 1, tick}} {
			if test.at == tick && due == tick {
				continue
			}
			if e.start(test.at); e.prev != test.prev || e.next != test.prev+minute {
				t.Errorf("at %d, tick %d due at %d: prev %d, next %d; want prev %d", test.at, tick, due, e.prev, e.next, test.prev)
			}
		}
	}
}
