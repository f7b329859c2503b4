package stock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lookPause is how long a process believes that the sale is closed before it
// compares the store with the book again.
const lookPause = 250 * time.Millisecond

// A shelf is what this process knows of the store's memory.
type shelf struct {
	comparing chan struct{} // holds a value while a goroutine compares

	mu       sync.Mutex
	seen     point     // the most that was seen of the shelf; its epoch is empty until it was compared with the book
	answered time.Time // when the store has answered last
	closed   error     // why nothing is sold, an ErrStockUnknown; nil: it is
	looked   time.Time // when closed was found
	halted   []string  // products that are not sold, as the store said last
}

// A point is how far the changes of a shelf were when the store answered.
type point struct {
	epoch   string // of the shelf
	changes int64  // that were acknowledged in it
	own     int64  // of these, to this process
}

// acknowledgedFor is how long the store remembers what it has acknowledged to a process that
// is silent: see lua/shelf.lua.
const acknowledgedFor = time.Hour

// learn remembers how far the store was: one that is not has lost some of it.
func (h *shelf) learn(at point) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen.epoch == at.epoch {
		h.seen.changes, h.seen.own, h.answered = max(h.seen.changes, at.changes), max(h.seen.own, at.own), time.Now()
	}
}

// found is what a comparison has found.
func (h *shelf) found(epoch string, changes int64, closed error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed, h.looked = closed, time.Now()
	if closed != nil {
		return
	}
	if h.seen.epoch != epoch {
		h.seen = point{epoch: epoch}
	}
	h.seen.changes, h.answered = max(h.seen.changes, changes), time.Now()
}

// least is how far the store must be.
func (h *shelf) least() point {
	least := h.seen
	if time.Since(h.answered) > acknowledgedFor/2 {
		least.own = 0 // the store may have forgotten by now
	}
	return least
}

// Known returns nil while stock is known, and otherwise why it is not, an
// ErrStockUnknown, as this process found when it asked the store last. It sends
// nothing. It is nil for a sale without Options.Book.
func (s *Sale) Known() error {
	if s.options.Book == nil {
		return nil
	}
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	if s.shelf.closed == nil && s.shelf.seen.epoch == "" {
		return fmt.Errorf("%w: the store was not compared with the book yet", ErrStockUnknown)
	}
	return s.shelf.closed
}

// forgotten is the error of something that the store does not know: while stock is
// not known it may have lost it.
func (s *Sale) forgotten(err error) error {
	if unknown := s.Known(); unknown != nil {
		return unknown
	}
	return err
}

// known is how far the store must be. It
// compares the store with the book if that was not done yet, or found the sale
// closed a while ago. The epoch of a sale without a book is empty.
func (s *Sale) known(ctx context.Context) (least point, err error) {
	if s.options.Book == nil {
		return point{}, nil
	}
	h := &s.shelf
	read := func() (fresh bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		least, err = h.least(), h.closed
		return err == nil && least.epoch != "" || err != nil && time.Since(h.looked) < lookPause
	}
	if read() {
		return least, err
	}
	if err := s.Probe(ctx); err != nil {
		return point{}, err
	}
	read()
	return least, err
}

// change asks a script that changes the sale, on a shelf that has lost nothing, and
// returns how far that is with the answer.
func (s *Sale) change(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]string, point, error) {
	for {
		least, err := s.known(ctx)
		if err != nil {
			return nil, point{}, err
		}
		keys, args := s.onShelf(least, keys, args)
		answer, err := s.askConfirmed(ctx, script, keys, args...)
		if err != nil {
			return nil, point{}, err
		}
		if is(answer, "shelf", 2) {
			if err := s.adopt(ctx, least.epoch, answer[1]); err != nil {
				return nil, point{}, err
			}
			continue
		}
		last := len(answer) - 2
		at := point{epoch: least.epoch}
		if last < 0 || parseNumbers(answer[last:], &at.changes, &at.own) != nil {
			return nil, point{}, strange(answer)
		}
		s.shelf.learn(at)
		return answer[:last], at, nil
	}
}

// onShelf are the keys and arguments of a script that runs on a shelf, with those that
// lua/shelf.lua wants.
func (s *Sale) onShelf(least point, keys []string, args []any) ([]string, []any) {
	return append(slices.Clip(keys), s.acknowledgedKey(least.epoch), s.key(keyShelf)),
		append(slices.Clip(args), least.epoch, least.changes, least.own)
}

// acknowledgedKey counts what was acknowledged to this process in an epoch.
func (s *Sale) acknowledgedKey(epoch string) string {
	return s.key(keyAcknowledged + epoch + ":" + s.process)
}

// adopt reads why the store has refused what an epoch was known for. Nil: the shelf
// was rebuilt since, and the new epoch is known now.
func (s *Sale) adopt(ctx context.Context, epoch, why string) error {
	if s.options.Book == nil {
		return closedShelf(why)
	}
	if err := s.Probe(ctx); err != nil {
		return err
	}
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	if s.shelf.seen.epoch == epoch {
		return closedShelf(why) // opened since: the next call finds it so
	}
	return nil
}

// reasons are those for which a shelf is closed.
var reasons = map[string]string{
	"forgot":    "the store has lost everything",
	"behind":    "the store has lost changes",
	"other":     "the store has another shelf than the book",
	"restoring": "the shelf is being rebuilt",
	"repair":    "the shelf is to be rebuilt",
}

func closedShelf(why string) error {
	text, ok := reasons[why]
	if !ok {
		text = "the store says " + quote(why)
	}
	return fmt.Errorf("%w: %s", ErrStockUnknown, text)
}

// Probe compares the store with the book, closes a shelf that has lost something,
// and opens a new one. It returns nil when stock is known, an ErrStockUnknown that says
// why it is not, an ErrForeign among them, or what kept it from reading: then what was
// known before still holds. Every process calls it before it sells, and should call it
// again each second (see Sale.Watch). It does nothing without Options.Book.
func (s *Sale) Probe(ctx context.Context) error {
	if s.options.Book == nil {
		return nil
	}
	_, err := s.probe(ctx)
	return err
}

// probe is Probe of a sale with a book, which it returns.
func (s *Sale) probe(ctx context.Context) (book, error) {
	select {
	case s.shelf.comparing <- struct{}{}:
		defer func() { <-s.shelf.comparing }()
	case <-ctx.Done():
		return book{}, fmt.Errorf("stock: probe: %w", context.Cause(ctx))
	}
	const tries = 3 // the shelf may be rebuilt between the book and the store
	for try := 1; ; try++ {
		b, err := s.options.Book.book(ctx, s.ID())
		if err != nil {
			return b, s.uncompared(err)
		}
		changes, err := s.compare(ctx, b)
		if errors.Is(err, errOtherEpoch) && try < tries {
			continue
		}
		if err != nil && !errors.Is(err, ErrStockUnknown) {
			return b, s.uncompared(err)
		}
		s.shelf.found(b.epoch, changes, err)
		return b, err
	}
}

// uncompared is the error of a comparison that was not possible: one that was never
// made leaves stock unknown.
func (s *Sale) uncompared(err error) error {
	err = fmt.Errorf("stock: compare the store with the book: %w", err)
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	if s.shelf.seen.epoch == "" {
		err = fmt.Errorf("%w: %w", ErrStockUnknown, err)
		s.shelf.closed, s.shelf.looked = err, time.Now()
	}
	return err
}

// errOtherEpoch is that of a shelf which is not the one that the book was read for.
var errOtherEpoch = closedShelf("other")

// compare lets the store compare itself with the book, and with what this process
// has seen of it.
func (s *Sale) compare(ctx context.Context, b book) (changes int64, err error) {
	s.shelf.mu.Lock()
	least := s.shelf.least()
	s.shelf.mu.Unlock()
	keys := append(s.keys(keyShelf, keyPut, keyHalted), s.acknowledgedKey(least.epoch))
	answer, err := s.ask(ctx, compareScript, keys, b.identity, b.epoch, b.mark, b.products, least.epoch, least.changes, least.own, b.changes)
	switch {
	case err != nil:
		return 0, err
	case len(answer) >= 2 && answer[0] == "open":
		s.shelf.mu.Lock()
		s.shelf.halted = answer[2:]
		s.shelf.mu.Unlock()
		return strconv.ParseInt(answer[1], 10, 64)
	case is(answer, "foreign", 2):
		return 0, foreign(b, answer[1])
	case is(answer, "other", 1):
		return 0, errOtherEpoch
	case is(answer, "closed", 2):
		return 0, closedShelf(answer[1])
	}
	return 0, strange(answer)
}

func foreign(b book, other string) error {
	return fmt.Errorf("%w: it keeps the shelf of database %s, this one is %s; all processes of a sale need the same database, and an SQLite file is for one host", ErrForeign, quote(other), quote(b.identity))
}

// watchEvery is how often a process compares the store with the book.
const watchEvery = time.Second

// Watch calls Probe each second until ctx ends, and logs when stock is not known (stock
// unknown, an error) and when it is again (stock known): see Sale.Probe. After a rebuild it
// logs each order that this process has acknowledged and that is nowhere any more (order
// lost), of the last ten thousand, and lists it in the book: see LostOrders. Between two
// calls a process notices by itself only that the store has lost what it
// had answered to this process. It returns at once without Options.Book. The logger may be nil.
func (s *Sale) Watch(ctx context.Context, log *slog.Logger) {
	if s.options.Book == nil {
		return
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	every := time.NewTicker(watchEvery)
	defer every.Stop()
	logged := "" // the last line
	for {
		bounded, stop := context.WithTimeout(ctx, askTime)
		err := s.Probe(bounded)
		if err == nil {
			if lost := s.logLost(bounded, log); lost != nil && !errors.Is(lost, ErrStockUnknown) && ctx.Err() == nil {
				log.Warn("lost orders not looked for", slog.String("err", lost.Error()))
			}
		}
		stop()
		if ctx.Err() != nil {
			return
		}
		switch {
		case errors.Is(err, ErrStockUnknown) && logged != err.Error():
			logged = err.Error()
			log.Error("stock unknown", slog.String("err", logged))
		case err == nil && logged != "":
			logged = ""
			log.Info("stock known")
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}
