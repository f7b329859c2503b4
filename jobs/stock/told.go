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

// remember keeps the answer that a buyer gets for an order.
func (s *Sale) remember(epoch string, r Record) {
	if s.options.Book != nil && !s.options.Settled {
		s.answers.add(given{r.ID, r.State, epoch})
	}
}

// logLost logs orders that this process has acknowledged before the shelf was rebuilt,
// and that neither the book nor the shelf has: as far as can be known, what was lost.
func (s *Sale) logLost(ctx context.Context, log *zap.Logger) error {
	before := s.answers.takeOther(s.epoch())
	for some := range slices.Chunk(slices.Sorted(maps.Keys(before)), maxBatch) {
		found, err := s.options.Book.find(ctx, s.ID(), some)
		if err != nil {
			return fmt.Errorf("stock: look for lost orders: %w", err)
		}
		lines, err := s.lines(ctx, some)
		if err != nil {
			return fmt.Errorf("stock: look for lost orders: %w", err)
		}
		for i, id := range some {
			state := before[id]
			has, there := found[id]
			if line, ok := lines[i].(string); ok { // the shelf is at least as far as the book
				if r, err := parseRecord(id, line); err == nil && (there || !r.State.open() || s.fresh(ctx, id)) {
					has, there = row{status: r.State}, true
				}
			}
			if !there || state.follows(has.status) {
				log.Error("order lost", zap.String("order", id), zap.String("acknowledged", string(state)))
			}
		}
	}
	return nil
}

// fresh reports whether a reserved order, which the book did not have, is on a list of the
// shelf: a record that is on none was left over when the rest was deleted.
func (s *Sale) fresh(ctx context.Context, id string) bool {
	for _, name := range []string{keyFresh, keyDue} {
		if _, err := again(ctx, func() (float64, error) { return s.client.ZScore(ctx, s.key(name), id).Result() }); !errors.Is(err, redis.Nil) {
			return true // or it is not known: nothing that may be there is listed as lost
		}
	}
	return false
}
