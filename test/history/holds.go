package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// CheckHolds returns nil if a correct lock can have granted the holds. Then a key never has more
// holders than the smallest limit among them, no try is refused that was within the limits, and
// each grant has a higher fence than all grants before it. Late is the longest time after which the
// store may still execute a request with an unknown outcome. The error wraps a *FenceError, a
// *CrowdError or an *OrderError. The checks that need no search come first.
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

// CheckFences returns an error if the fence of a grant is not higher than the fence of a grant whose
// reply had arrived before the request was sent. It also holds after a failover that grants a key twice.
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

// A CrowdError reports that a key had more holders at a time than the limit of one of them.
type CrowdError struct {
	Limit   int // the lowest limit of the holders
	Holders int // including Last
	Last    Hold
}

func (e *CrowdError) Error() string {
	return fmt.Sprintf("%d owners held the key, and one of them allows only %d, when %v was answered", e.Holders, e.Limit, &e.Last)
}

// crowded counts, at the reply of each grant, the holders that certainly had the key then.
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

// until returns the time until which the lease was certainly held. A lost lease may have ended when its
// first TTL was over.
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

// A step is the begin or the end of a lease.
type step struct {
	*Hold
	id   int  // of the hold; unique per key
	ends bool // the lease ends; otherwise it begins
}

// steps returns the steps of the holds of a key. A refusal of a caller that waited is left out,
// because it proves nothing. An attempt with an unknown outcome may have held the key until its
// lease would be over.
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
			default: // it expires, unless a request with an unknown outcome ended it earlier
				add(ends, min(h.Ending, h.Call+int64(ttl)), h.Ended+last)
			}
		}
	}
	return ops
}

// mostHolders is the highest number of holders of a key at a time, including readers.
const mostHolders = 16

// A holding is the state of a key with several holders in a correct store.
type holding struct {
	held [mostHolders]held // sorted by id; unused entries are zero and come first
	last int64             // the highest fence
}

type held struct{ id, limit int }

var holders = porcupine.NondeterministicModel{
	Init: func() []any { return []any{holding{}} },
	Step: func(s, in, _ any) []any { return s.(holding).after(in.(step)) },
}

// after returns the possible states of the key after a step. It returns none if the step is impossible.
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
