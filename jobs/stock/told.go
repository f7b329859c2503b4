package stock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
)

// maxRemembered is how many answers a process remembers at least: those of a minute of
// a busy sale, which are settled within seconds.
const maxRemembered = 10_000

// answers are the last that this process has given to buyers, so that it can say
// what a store has lost before it was settled.
type answers struct {
	mu    sync.Mutex
	given []given // the oldest first
	lost  int64   // how many were logged as lost
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

func (a *answers) addLost(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost += int64(n)
}

// Lost is how many orders this process has acknowledged and logged as lost: see Watch. It sends nothing.
func (s *Sale) Lost() int64 {
	s.answers.mu.Lock()
	defer s.answers.mu.Unlock()
	return s.answers.lost
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

// giveBack keeps answers that were taken away and are to be taken again. What was answered since is later.
func (a *answers) giveBack(all map[string]State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := make([]given, 0, len(all)+len(a.given))
	for id, state := range all {
		old = append(old, given{id: id, state: state}) // of no epoch that there is
	}
	a.given = append(old, a.given...)
}

// remember keeps the answer that a buyer gets for an order.
func (s *Sale) remember(epoch string, r Record) {
	if s.options.Book != nil && !s.options.Settled {
		s.answers.add(given{r.ID, r.State, epoch})
	}
}

// logLost logs orders that this process has acknowledged before the shelf was rebuilt,
// and that neither the book nor the shelf has: as far as can be known, what was lost. After
// an error it goes on with the others when it is called again.
func (s *Sale) logLost(ctx context.Context, log *zap.Logger) error {
	before := s.answers.takeOther(s.epoch())
	for some := range slices.Chunk(slices.Sorted(maps.Keys(before)), maxBatch) {
		lost, err := s.lost(ctx, some, before)
		if err != nil {
			s.answers.giveBack(before)
			return fmt.Errorf("stock: look for lost orders: %w", err)
		}
		s.answers.addLost(len(lost))
		for _, id := range lost {
			log.Error("order lost", zap.String("order", id), zap.String("acknowledged", string(before[id])))
		}
		for _, id := range some {
			delete(before, id)
		}
	}
	return nil
}

// lost are those of some orders that neither the book nor the shelf has as far as they were
// acknowledged.
func (s *Sale) lost(ctx context.Context, ids []string, acknowledged map[string]State) (lost []string, err error) {
	found, err := s.options.Book.find(ctx, s.ID(), ids)
	if err != nil {
		return nil, err
	}
	lines, err := s.lines(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		has, there := found[id]
		line, _ := lines[i].(string)
		if r, err := parseRecord(id, line); err == nil { // the shelf is at least as far as the book
			if !there {
				if there, err = s.goesOn(ctx, id); err != nil {
					return nil, err
				}
			}
			has.status = r.State
		}
		// An order that was paid and is expired is lost, too: its payment is.
		if told := acknowledged[id]; !there || has.status != told && !has.status.follows(told) {
			lost = append(lost, id)
		}
	}
	return lost, nil
}

// goesOn reports whether a record that the book did not have is on a list of the shelf, or
// was settled since. One that is neither was left over when the rest was deleted.
func (s *Sale) goesOn(ctx context.Context, id string) (bool, error) {
	for _, name := range []string{keyFresh, keyUnsettled} {
		_, err := again(ctx, func() (float64, error) { return s.client.ZScore(ctx, s.key(name), id).Result() })
		if err == nil || !errors.Is(err, redis.Nil) {
			return err == nil, err
		}
	}
	found, err := s.options.Book.find(ctx, s.ID(), []string{id})
	_, settled := found[id]
	return settled, err
}
