package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// An OverlapError reports that a key was granted while the lease of another owner was certainly alive.
type OverlapError struct {
	Holder, Second Op
	Until          int64 // the lease of Holder was certainly alive until then
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("%v was granted from %d to %d, %v between %d and %d", &e.Holder, e.Holder.Return, e.Until, &e.Second, e.Second.Call, e.Second.Return)
}

// Exclusive returns an error if a key was granted to two owners at a time, or if a fence did not
// increase. It requires less than [Check]: a failover can lose a release, so that the store keeps the key
// longer than necessary, which does no harm.
func Exclusive(ops []Op) error {
	for key, of := range byKey(ops) {
		if err := fencesGrow(of); err != nil {
			return fmt.Errorf("history: %s: %w", key, err)
		}
		if err := exclusive(of, early); err != nil {
			return fmt.Errorf("history: %s: %w", key, err)
		}
	}
	return nil
}

// early is the default of [Limits.Early].
const early = 5 * time.Millisecond

// A tenure is the time in which a lease was certainly alive.
type tenure struct {
	granted Op
	until   int64
}

func exclusive(ops []Op, early time.Duration) error {
	all := tenures(ops, early)
	var longest tenure
	for _, t := range all {
		if t.granted.Call > longest.granted.Return && t.granted.Return < longest.until {
			return &OverlapError{Holder: longest.granted, Second: t.granted, Until: longest.until}
		}
		if t.until > longest.until {
			longest = t
		}
	}
	return nil
}

// tenures returns the tenures of all owners, in the order of their requests. A repeated request
// does not extend the lease that the first request may have got.
func tenures(ops []Op, early time.Duration) []tenure {
	owners, asked := map[string]*tenure{}, map[string]int64{}
	ops = slices.SortedFunc(slices.Values(ops), func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })
	var all []*tenure
	for _, o := range ops {
		t := owners[o.Owner]
		end := o.Call + int64(o.TTL-early)
		first, again := asked[o.Owner]
		if o.Kind == Acquire && !again {
			first = o.Call
			asked[o.Owner] = first
		}
		switch {
		case o.Kind == Acquire && o.Outcome == OK && t == nil:
			t = &tenure{granted: o, until: first + int64(o.TTL-early)}
			owners[o.Owner] = t
			all = append(all, t)
		case t == nil:
		case o.Kind == Renew && o.Outcome == OK:
			t.until = end
		case o.Kind == Release:
			t.until = min(t.until, o.Call)
		}
	}
	found := make([]tenure, len(all))
	for i, t := range all {
		found[i] = *t
	}
	return found
}
