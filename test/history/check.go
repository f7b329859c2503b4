package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Limits are what a history is judged by. The zero value is for a store that
// no test stops.
type Limits struct {
	// Late is how long after its client gave up a request may still be carried out:
	// as long as the network and the store are held up at most. Zero: 100ms.
	Late time.Duration
	// Early and Over are how much earlier and later than its TTL a lease may end.
	// Zero: 5ms and 50ms.
	Early, Over time.Duration
	// Votes says that the store is several servers, of which a majority decides. What
	// a request in doubt may have been granted is taken back behind its client, unless
	// that was granted it since; and a client that releases a lease that is over may be answered so
	// though no client has the key: those that want it have the servers between them.
	Votes bool
	// Patience is how long porcupine may take over one key, before it is given the
	// first half of it. Zero: 10s.
	Patience time.Duration
	// Picture is where a history that is refused is drawn, as HTML. Empty: nowhere.
	Picture string
}

// Check returns nil if a correct store can have given these answers. The error
// says what it cannot have done, or that the time was over before that was known.
// To find an order is NP-hard, and what is in doubt multiplies the orders: a key
// whose history takes too long is judged as by [Exclusive], which takes no time, and
// by its first half, or half of that.
func Check(ops []Op, l Limits) error {
	or(&l.Late, 100*time.Millisecond)
	or(&l.Early, early)
	or(&l.Over, 50*time.Millisecond)
	or(&l.Patience, 10*time.Second)
	for key, of := range byKey(ops) {
		if err := fencesGrow(of); err != nil {
			return fmt.Errorf("history: %s: %w", key, err)
		}
		if err := l.check(of); err != nil {
			return fmt.Errorf("history: %s, %d requests: %w", key, len(of), err)
		}
	}
	return nil
}

func byKey(ops []Op) map[string][]Op {
	keys := map[string][]Op{}
	for _, o := range ops {
		keys[o.Key] = append(keys[o.Key], o)
	}
	return keys
}

// A FenceError says that a grant's fence is not above that of one before it.
type FenceError struct{ Before, After Op }

func (e *FenceError) Error() string {
	return fmt.Sprintf("%v was answered before %v was asked", &e.Before, &e.After)
}

// fencesGrow returns the first grant that was asked for after another one with a
// fence as high had been answered to another owner.
func fencesGrow(ops []Op) error {
	grants := slices.DeleteFunc(slices.Clone(ops), func(o Op) bool { return o.Kind != Acquire || o.Outcome != OK })
	asked := slices.Clone(grants)
	slices.SortFunc(grants, func(a, b Op) int { return cmp.Compare(a.Return, b.Return) })
	slices.SortFunc(asked, func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })
	var top Op
	for _, o := range asked {
		for len(grants) > 0 && grants[0].Return < o.Call {
			if grants[0].Granted > top.Granted {
				top = grants[0]
			}
			grants = grants[1:]
		}
		if o.Granted <= top.Granted && o.Owner != top.Owner {
			return &FenceError{Before: top, After: o}
		}
	}
	return nil
}

// An OrderError says that no order of a key's requests explains their answers.
type OrderError struct {
	Certain bool // else porcupine ran out of time
}

func (e *OrderError) Error() string {
	if e.Certain {
		return "no order of the requests explains their answers"
	}
	return "the time was over before an order was found: this says nothing"
}

// Refuted reports whether an error of Check says for certain that the history is
// none of a correct store, and not that the time was over before that was known.
func Refuted(err error) bool {
	if _, fence := errors.AsType[*FenceError](err); fence {
		return true
	}
	if _, two := errors.AsType[*OverlapError](err); two {
		return true
	}
	if _, crowd := errors.AsType[*CrowdError](err); crowd {
		return true
	}
	order, is := errors.AsType[*OrderError](err)
	return is && order.Certain
}

// few is how many requests must be judged in time.
const few = 50

func (l *Limits) check(ops []Op) error {
	m := model(l.Votes).ToModel()
	verdict, info := porcupine.CheckOperationsVerbose(m, l.operations(ops), l.Patience)
	if verdict == porcupine.Unknown {
		if err := exclusive(ops, l.Early); err != nil {
			return err
		}
	}
	for verdict == porcupine.Unknown && len(ops) > 2*few {
		ops = firstHalf(ops)
		verdict, info = porcupine.CheckOperationsVerbose(m, l.operations(ops), l.Patience)
	}
	if verdict == porcupine.Ok {
		return nil
	}
	err := &OrderError{Certain: verdict == porcupine.Illegal}
	if l.Picture == "" {
		return err
	}
	if drawn := porcupine.VisualizePath(m, info, l.Picture); drawn != nil {
		return fmt.Errorf("%w; its picture: %w", err, drawn)
	}
	return fmt.Errorf("%w; see %s", err, l.Picture)
}

// firstHalf is the history up to its middle. What was not answered by then may
// have been done, or not: all that was answered has an order without the rest.
func firstHalf(ops []Op) []Op {
	all := slices.SortedFunc(slices.Values(ops), func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })
	end := all[len(all)/2].Call
	all = all[:len(all)/2]
	for i := range all {
		if all[i].Return >= end {
			all[i].Return, all[i].Outcome = end, Unknown
		}
	}
	return all
}

// operations are the requests of a key, and the ends of the leases they made.
func (l *Limits) operations(ops []Op) []porcupine.Operation {
	var all []porcupine.Operation
	for i := range ops {
		o := &ops[i]
		end := o.Return
		if o.Outcome == Unknown {
			end += int64(l.Late)
		}
		all = append(all, porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call, Return: end})
		if l.Votes && o.Outcome == Unknown && o.Kind == Acquire {
			all = append(all, porcupine.Operation{ClientId: o.Client, Input: &Op{Kind: Undo, ID: o.ID}, Call: o.Call, Return: end})
		}
		if o.Outcome <= OK && o.Kind <= Renew {
			all = append(all, porcupine.Operation{
				ClientId: o.Client, Input: &Op{Kind: Expire, ID: o.ID},
				Call: o.Call + int64(o.TTL-l.Early), Return: end + int64(o.TTL+l.Over),
			})
		}
	}
	return all
}
