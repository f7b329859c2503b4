package stock

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
)

// maxRemembered is the least number of answers that a process remembers. It covers a minute of a
// busy sale, whose answers are settled within seconds.
const maxRemembered = 10_000

// answers holds the last answers that this process has sent to buyers. After a loss of the store it
// shows which orders were acknowledged and not settled yet.
type answers struct {
	mu    sync.Mutex
	given []given // oldest first
}

type given struct {
	id    string
	state State
	epoch string // the shelf's epoch before the request to the store
}

func (a *answers) add(g given) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.given) >= 2*maxRemembered {
		a.given = append(a.given[:0], a.given[maxRemembered:]...)
	}
	a.given = append(a.given, g)
}

// takeOther removes the answers of all epochs but this one, and returns the last answer of each of
// their orders.
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

// giveBack returns removed answers to the list, as answers of the given epoch. They go before the
// answers that were added meanwhile, which are later.
func (a *answers) giveBack(all map[string]State, epoch string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := make([]given, 0, len(all)+len(a.given))
	for id, state := range all {
		old = append(old, given{id, state, epoch})
	}
	a.given = append(old, a.given...)
}

// remember adds the answer that a buyer gets for an order. Without Options.Book nothing can be
// compared, and with Options.Settled the book has the order already.
func (s *Sale) remember(epoch string, r Record) {
	if s.options.Book != nil && !s.options.Settled {
		s.answers.add(given{r.ID, r.State, epoch})
	}
}

// logLost finds the orders that this process acknowledged before the shelf was rebuilt and that
// neither the book nor the shelf has. It lists them in the book and logs them. An answer is
// forgotten only after the book has the order or the loss was logged: until then the shelf may lose
// it again, or another rebuild may replace the shelf. After an error the next call continues with
// the remaining orders.
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
			s.answers.giveBack(before, "") // no shelf has the empty epoch, so the next call takes them again
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

// lost compares orders with the answers that their buyers got. It returns the orders for which
// neither the book nor the shelf of the epoch is as far as the answer, and those for which only the
// shelf is.
func (s *Sale) lost(ctx context.Context, epoch string, ids []string, acknowledged map[string]State) (lost, unsettled []string, err error) {
	shelved, err := s.shelved(ctx, epoch, ids) // first, since an order that leaves the shelf is in the book before
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

// fulfils reports whether an order in this state has reached the state that its buyer was answered.
// An expired order does not fulfil the answer paid: its payment is lost.
func (s State) fulfils(answered State) bool { return s == answered || s.follows(answered) }

// shelved returns the states that orders have on the shelf of an epoch, if the book may lack them.
// The state is empty for other orders.
func (s *Sale) shelved(ctx context.Context, epoch string, ids []string) ([]State, error) {
	keys := s.orderKeys(ids, keyShelf, keyFresh, keyUnsettled, keyDisputed)
	answer, err := s.ask(ctx, acknowledgedScript, keys, argsOf(ids, epoch)...)
	switch {
	case err != nil:
		return nil, err
	case is(answer, "shelf", 2):
		return nil, closedShelf(answer[1])
	case len(answer) != 1+len(ids) || answer[0] != "ok":
		return nil, unknownAnswer(answer)
	}
	states := make([]State, len(ids))
	for i, id := range ids {
		if r, err := parseRecord(id, answer[i+1]); err == nil {
			states[i] = r.State
		}
	}
	return states, nil
}
