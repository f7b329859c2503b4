package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// CheckHolds returns nil if the holds can be those of a correct lock: a key is never
// held by more than the smallest limit among its holders, nor refused to a try that
// would fit, and each grant has a higher fence than all before it. Late is how long a
// request in doubt may be on its way. The error wraps a *FenceError, a *CrowdError or an
// *OrderError: what can be said without a search is said first.
func CheckHolds(all []Hold, ttl, late time.Duration) error {
	if err := CheckFences(all); err != nil {
		return err
	}
	for key, of := range holdsByKey(all) {
		if err := crowded(of, ttl); err != nil {
			return fmt.Errorf("history: %s: %w", key, err)
		}
	}
	for key, of := range holdsByKey(all) {
		verdict := porcupine.CheckOperationsTimeout(holders.ToModel(), steps(of, ttl, late), 10*time.Second)
		if verdict != porcupine.Ok {
			return fmt.Errorf("history: %s, %d attempts: %w", key, len(of), &OrderError{Certain: verdict == porcupine.Illegal})
		}
	}
	return nil
}

// CheckFences returns nil unless a grant has a fence that is not above that of one
// which was answered before it was asked for. That holds also where a failover gives a
// key to two.
func CheckFences(all []Hold) error {
	for key, of := range holdsByKey(all) {
		var ops []Op
		for i, h := range of {
			if h.Outcome == OK {
				ops = append(ops, Op{Kind: Acquire, Key: key, Owner: fmt.Sprint(i), Call: h.Call, Return: h.Return, Outcome: OK, Granted: h.Fence})
			}
		}
		if err := fencesGrow(ops); err != nil {
			return fmt.Errorf("history: %s: %w", key, err)
		}
	}
	return nil
}

// A CrowdError says that more held a key together than one of them allows.
type CrowdError struct {
	Limit   int // of Last, or of one that held the key already
	Holders int // Last among them
	Last    Hold
}

func (e *CrowdError) Error() string {
	return fmt.Sprintf("%d held the key, of which one allows %d, when %v was answered", e.Holders, e.Limit, &e.Last)
}

// crowded looks at each answered grant for those that held the key for certain then.
func crowded(all []Hold, ttl time.Duration) error {
	for _, last := range all {
		if last.Outcome != OK || last.until(ttl) <= last.Return {
			continue
		}
		n, limit := 0, max(last.Limit, 1)
		for _, h := range all {
			if h.Outcome == OK && h.Return <= last.Return && last.Return < h.until(ttl) {
				n++
				limit = min(limit, max(h.Limit, 1))
			}
		}
		if n > limit {
			return &CrowdError{Limit: limit, Holders: n, Last: last}
		}
	}
	return nil
}

// until is how long a lease was held for certain. One that was lost may have ended
// when its first TTL was over.
func (h *Hold) until(ttl time.Duration) int64 {
	if h.End == Lost {
		return min(h.Ending, h.Call+int64(ttl))
	}
	return h.Ending
}

func holdsByKey(all []Hold) map[string][]Hold {
	keys := map[string][]Hold{}
	for _, h := range all {
		keys[h.Key] = append(keys[h.Key], h)
	}
	return keys
}

// A step is what happens to a key at one instant.
type step struct {
	*Hold
	id   int  // of the hold
	ends bool // the lease ends, rather than begins
}

// steps are the steps of a key's holds. What was refused to a caller that waited says
// nothing, and what was in doubt may have been granted until its lease is over.
func steps(all []Hold, ttl, late time.Duration) []porcupine.Operation {
	var ops []porcupine.Operation
	add := func(s step, from, to int64) {
		ops = append(ops, porcupine.Operation{ClientId: s.id, Input: s, Call: from, Return: max(to, from)})
	}
	for i := range all {
		h := &all[i]
		begins, ends := step{Hold: h, id: i + 1}, step{Hold: h, id: i + 1, ends: true}
		last := int64(ttl + late)
		switch h.Outcome {
		case Held:
			if h.Try {
				add(begins, h.Call, h.Return)
			}
		case Unknown:
			add(begins, h.Call, h.Return+int64(late))
			add(ends, h.Call, h.Return+last)
		case OK:
			add(begins, h.Call, h.Return)
			switch h.End {
			case OK:
				add(ends, h.Ending, h.Ended)
			case Lost:
				add(ends, min(h.Call+int64(ttl), h.Ending), h.Ended)
			default: // it ends by itself, unless a request in doubt ended it
				add(ends, min(h.Ending, h.Call+int64(ttl)), h.Ended+last)
			}
		}
	}
	return ops
}

// mostHolders is how many hold a key at once, readers too.
const mostHolders = 16

// A holding is what a correct store knows of one key that several may hold.
type holding struct {
	held [mostHolders]held // by id, those that are not there are zero
	last int64             // the highest fence
}

type held struct{ id, limit int }

var holders = porcupine.NondeterministicModel{
	Init: func() []any { return []any{holding{}} },
	Step: func(s, in, _ any) []any { return s.(holding).after(in.(step)) },
}

// after returns the states in which the key may be after a step, none if that cannot be.
func (s holding) after(of step) []any {
	switch {
	case of.ends:
		return []any{s.without(of.id)}
	case of.Outcome == Held && !s.fits(of.Limit):
		return []any{s}
	case of.Outcome == Unknown && s.fits(of.Limit):
		return []any{s, s.with(of, s.last)}
	case of.Outcome == Unknown:
		return []any{s}
	case of.Outcome == OK && s.fits(of.Limit) && of.Fence > s.last:
		return []any{s.with(of, of.Fence)}
	}
	return nil
}

func (s holding) fits(limit int) bool {
	n, least := 1, max(limit, 1)
	for _, h := range s.held {
		if h.id != 0 {
			n++
			least = min(least, max(h.limit, 1))
		}
	}
	return n <= least && n <= mostHolders
}

func (s holding) with(of step, fence int64) holding {
	i := slices.IndexFunc(s.held[:], func(h held) bool { return h.id == 0 })
	s.held[i], s.last = held{of.id, of.Limit}, fence
	slices.SortFunc(s.held[:], byID)
	return s
}

func (s holding) without(id int) holding {
	for i := range s.held {
		if s.held[i].id == id {
			s.held[i] = held{}
		}
	}
	slices.SortFunc(s.held[:], byID)
	return s
}

func byID(a, b held) int { return cmp.Compare(a.id, b.id) }
