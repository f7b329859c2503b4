package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Limits are the tolerances of [Check]. The zero value fits a store that no test stops.
type Limits struct {
	// Late is the longest time after its client gave up in which the store may still execute a
	// request: the longest delay by the network and the store. Zero: 100ms.
	Late time.Duration
	// Early and Over are the longest times by which a lease may end before and after its TTL.
	// Zero: 5ms and 50ms.
	Early, Over time.Duration
	// Undoes reports whether the driver may undo an acquisition with an unknown outcome, unless a
	// repeated request of the same client was granted. The driver of Redis undoes one that too few
	// replicas have. Nil: it undoes none.
	Undoes func(*Op) bool
	// Votes is set for a store of several servers that decides by majority, whose driver undoes each.
	// Such a store may report a lease as over to the client that releases it, although no client has
	// the key: competing clients have the votes of the servers between them.
	Votes bool
	// Patience is the longest time of the search for one key. After it the first half of the
	// history is searched. Zero: 10s.
	Patience time.Duration
	// Picture is the file for an HTML picture of a refuted history. Empty: none.
	Picture string
}

// Check returns nil if a correct store can have sent these replies. Otherwise the error is a
// contradiction, or it reports that the search took too long. The search for an order is NP-hard, and
// each unknown outcome multiplies the orders. If the search for a key takes too long, Check checks the
// history of the key as [Exclusive] does, which takes no time, and then searches its first half, or half
// of that half.
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

// A FenceError reports that the fence of a grant is not higher than the fence of an earlier grant.
type FenceError struct{ Before, After Op }

func (e *FenceError) Error() string {
	return fmt.Sprintf("%v was answered before %v was asked", &e.Before, &e.After)
}

// fencesGrow returns an error for the first grant whose fence is not higher than the fence of another
// owner whose reply arrived before the grant was requested.
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

// An OrderError reports that no order of the requests for a key explains their replies.
type OrderError struct {
	Certain bool // false: porcupine ran out of time
	// Until are requests in the order of their replies, up to the first that the longest order does not explain.
	Until []Op
}

func (e *OrderError) Error() string {
	if !e.Certain {
		return "the time was over before an order was found: this says nothing"
	}
	var text strings.Builder
	text.WriteString("no order of the requests explains their answers; the first that is not explained is the last of these:")
	for i := range e.Until {
		o := &e.Until[i]
		fmt.Fprintf(&text, "\n\t%8.3f to %8.3f ms: client %d: %v", ms(o.Call-e.Until[0].Call), ms(o.Return-e.Until[0].Call), o.Client, o)
	}
	return text.String()
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

// until returns the last requests up to the first one that the longest order leaves out.
func until(info porcupine.LinearizationInfo, ops []Op) []Op {
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	explained := map[*Op]bool{}
	for _, o := range longest {
		explained[o.Input.(*Op)] = true
	}
	all := make([]*Op, len(ops))
	for i := range ops {
		all[i] = &ops[i]
	}
	slices.SortFunc(all, func(a, b *Op) int { return cmp.Compare(a.Return, b.Return) })
	first := slices.IndexFunc(all, func(o *Op) bool { return !explained[o] && o.Outcome != Unknown })
	var last []Op
	for _, o := range all[max(first-20, 0) : first+1] {
		last = append(last, *o)
	}
	return last
}

// Refuted reports whether an error of [Check] proves that the store is not correct. Otherwise the search
// took too long.
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

// few is the number of requests that porcupine always searches in time.
const few = 50

func (l *Limits) check(ops []Op) error {
	m := model(l.Votes).ToModel()
	verdict, info := porcupine.CheckOperationsVerbose(m, l.operations(ops), l.Patience)
	if verdict == porcupine.Unknown {
		if err := exclusive(ops, l.Early); err != nil {
			return err
		}
	}
	for verdict == porcupine.Unknown && len(ops) > few {
		ops = firstHalf(ops)
		verdict, info = porcupine.CheckOperationsVerbose(m, l.operations(ops), l.Patience)
	}
	if verdict == porcupine.Ok {
		return nil
	}
	err := &OrderError{Certain: verdict == porcupine.Illegal}
	if err.Certain {
		err.Until = until(info, ops)
	}
	if l.Picture == "" {
		return err
	}
	if drawn := porcupine.VisualizePath(m, info, l.Picture); drawn != nil {
		return fmt.Errorf("%w; its picture: %w", err, drawn)
	}
	return fmt.Errorf("%w; see %s", err, l.Picture)
}

// firstHalf returns the first half of a history. A request without a reply by its end gets an unknown
// outcome. If the whole history has a valid order, so has its first half.
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

// operations returns the requests for a key, and the expiries of the leases that they got.
func (l *Limits) operations(ops []Op) []porcupine.Operation {
	var all []porcupine.Operation
	last := map[string]int64{} // when each owner sent its last release
	for i := range ops {
		if o := &ops[i]; o.Kind == Release {
			last[o.Owner] = max(last[o.Owner], o.Call)
		}
	}
	for i := range ops {
		ops[i].more = ops[i].Kind == Release && ops[i].Call < last[ops[i].Owner]
	}
	for i := range ops {
		o := &ops[i]
		end := o.Return
		if o.Outcome == Unknown {
			end += int64(l.Late)
		}
		all = append(all, porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call, Return: end})
		if o.Outcome == Unknown && o.Kind == Acquire && (l.Votes || l.Undoes != nil && l.Undoes(o)) {
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
