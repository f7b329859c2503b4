package stock

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
)

// maxRemembered is how many answers a process remembers at least: those of a minute of
// a busy sale, which are settled within seconds.
const maxRemembered = 10_000

// answers are the last that this process has given to buyers, so that it can say
// what a store has lost before it was settled.
type answers struct {
	mu    sync.Mutex
	given []given // the oldest first
}

type given struct {
	id    string
	state State
	epoch string // of the shelf, before the store was asked
}

func (a *answers) add(g given) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.given) >= 2*maxRemembered {
		a.given = append(a.given[:0], a.given[maxRemembered:]...)
	}
	a.given = append(a.given, g)
}

// takeOther takes away what was answered in other epochs than this one: the last
// answer of each order.
func (a *answers) takeOther(epoch string) map[string]State {
	a.mu.Lock()
	defer a.mu.Unlock()
	var before map[string]State
	a.given = slices.DeleteFunc(a.given, func(g given) bool {
		if g.epoch == epoch {
			return false
		}
		if before == nil {
			before = map[string]State{}
		}
		before[g.id] = g.state
		return true
	})
	return before
}

// giveBack keeps answers that were taken away, as those of an epoch. What was answered since is later.
func (a *answers) giveBack(all map[string]State, epoch string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := make([]given, 0, len(all)+len(a.given))
	for id, state := range all {
		old = append(old, given{id, state, epoch})
	}
	a.given = append(old, a.given...)
}

// remember keeps the answer that a buyer gets for an order.
func (s *Sale) remember(epoch string, r Record) {
	if s.options.Book != nil && !s.options.Settled {
		s.answers.add(given{r.ID, r.State, epoch})
	}
}

// logLost lists in the book, and logs, orders that this process has acknowledged before the shelf was rebuilt,
// and that neither the book nor the shelf has: as far as can be known, what was lost. An answer is forgotten only when
// the book has the order, or it was logged: the shelf may be lost, too, or may be another one a moment later. After
// an error it goes on with the others when it is called again.
func (s *Sale) logLost(ctx context.Context, log *slog.Logger) error {
	epoch := s.epoch()
	before := s.answers.takeOther(epoch)
	waiting := map[string]State{}
	defer func() { s.answers.giveBack(waiting, epoch) }()
	for some := range slices.Chunk(slices.Sorted(maps.Keys(before)), maxBatch) {
		lost, unsettled, err := s.lost(ctx, epoch, some, before)
		if err == nil {
			err = s.listGone(ctx, lost, before)
		}
		if err != nil {
			s.answers.giveBack(before, "") // of no epoch that there is: they are taken again
			return fmt.Errorf("stock: look for lost orders: %w", err)
		}
		for _, id := range unsettled {
			waiting[id] = before[id]
		}
		for _, id := range lost {
			log.Error("order lost", slog.String("order", id), slog.String("acknowledged", string(before[id])))
		}
		for _, id := range some {
			delete(before, id)
		}
	}
	return nil
}

// lost returns those of some orders that neither the book nor the shelf of an epoch has as far as they were acknowledged,
// and those of which only the shelf is as far.
func (s *Sale) lost(ctx context.Context, epoch string, ids []string, acknowledged map[string]State) (lost, unsettled []string, err error) {
	shelved, err := s.shelved(ctx, epoch, ids) // before the book is read: what leaves the shelf is in the book then
	if err != nil {
		return nil, nil, err
	}
	found, err := s.options.Book.find(ctx, s.ID(), ids)
	if err != nil {
		return nil, nil, err
	}
	for i, id := range ids {
		answered := acknowledged[id]
		switch has, known := found[id]; {
		case known && has.status.fulfils(answered):
		case shelved[i].fulfils(answered):
			unsettled = append(unsettled, id)
		default:
			lost = append(lost, id)
		}
	}
	return lost, unsettled, nil
}

// fulfils reports whether an order in this state is as far as its buyer was answered. An order that was paid and is
// expired is not: its payment is lost.
func (s State) fulfils(answered State) bool { return s == answered || s.follows(answered) }

// shelved returns the states that some orders have on the shelf of an epoch and that the book may not have yet; empty: none.
func (s *Sale) shelved(ctx context.Context, epoch string, ids []string) ([]State, error) {
	keys := s.orderKeys(ids, keyShelf, keyFresh, keyUnsettled, keyDisputed)
	answer, err := s.ask(ctx, acknowledgedScript, keys, argsOf(ids, epoch)...)
	switch {
	case err != nil:
		return nil, err
	case is(answer, "shelf", 2):
		return nil, closedShelf(answer[1])
	case len(answer) != 1+len(ids) || answer[0] != "ok":
		return nil, strange(answer)
	}
	states := make([]State, len(ids))
	for i, id := range ids {
		if r, err := parseRecord(id, answer[i+1]); err == nil {
			states[i] = r.State
		}
	}
	return states, nil
}
