package stock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
	"github.com/redis/go-redis/v9"
)

// comparePause is the time for which a process treats a closed sale as closed before it compares
// the store with the book again.
const comparePause = 250 * time.Millisecond

// A shelf is this process's knowledge of the store.
type shelf struct {
	comparing chan struct{} // holds a value while a goroutine compares

	mu         sync.Mutex
	seen       changeCounts // the highest counts seen; the epoch is empty until the first comparison with the book
	answered   time.Time    // time of the store's last answer
	closed     error        // why nothing is sold, an ErrStockUnknown; nil: the sale is open
	comparedAt time.Time    // time of the comparison that set closed
	halted     []string     // products that are not sold, by the store's last answer
}

// changeCounts are the numbers of changes of a shelf at an answer of the store.
type changeCounts struct {
	epoch   string // of the shelf
	changes int64  // acknowledged in the epoch
	own     int64  // of these, to this process
}

// acknowledgedFor is how long the store keeps the number of changes that it acknowledged to a
// silent process: see lua/shelf.lua.
const acknowledgedFor = time.Hour

// learn keeps the highest counts of the store. A store with lower counts has lost data.
func (h *shelf) learn(at changeCounts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen.epoch == at.epoch {
		h.seen.changes, h.seen.own, h.answered = max(h.seen.changes, at.changes), max(h.seen.own, at.own), time.Now()
	}
}

// found stores the result of a comparison.
func (h *shelf) found(epoch string, changes int64, closed error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed, h.comparedAt = closed, time.Now()
	if closed != nil {
		return
	}
	if h.seen.epoch != epoch {
		h.seen = changeCounts{epoch: epoch}
	}
	h.seen.changes, h.answered = max(h.seen.changes, changes), time.Now()
}

// least returns the counts that the store must have reached. The caller holds h.mu.
func (h *shelf) least() changeCounts {
	least := h.seen
	if time.Since(h.answered) > acknowledgedFor/2 {
		least.own = 0 // the store may have dropped the number by now
	}
	return least
}

// Known returns nil while stock is known, and otherwise an ErrStockUnknown with the reason, as of
// this process's last request to the store. It sends nothing. It returns nil for a sale without
// Options.Book.
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

// forgotten returns the error for something that the store does not know: while stock is unknown,
// the store may have lost it.
func (s *Sale) forgotten(err error) error {
	if unknown := s.Known(); unknown != nil {
		return unknown
	}
	return err
}

// known returns the counts that the store must have reached. It compares the store with the book if
// that was never done, or if the sale was closed for longer than comparePause. The epoch of a sale
// without a book is empty.
func (s *Sale) known(ctx context.Context) (least changeCounts, err error) {
	if s.options.Book == nil {
		return changeCounts{}, nil
	}
	read := func() (fresh bool) {
		s.shelf.mu.Lock()
		defer s.shelf.mu.Unlock()
		least, err = s.shelf.least(), s.shelf.closed
		return err == nil && least.epoch != "" || err != nil && time.Since(s.shelf.comparedAt) < comparePause
	}
	if read() {
		return least, err
	}
	if err := s.Probe(ctx); err != nil {
		return changeCounts{}, err
	}
	read()
	return least, err
}

// change runs a script that changes the sale, on a shelf that has lost nothing. It returns the
// answer and the counts of the shelf.
func (s *Sale) change(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]string, changeCounts, error) {
	for {
		least, err := s.known(ctx)
		if err != nil {
			return nil, changeCounts{}, err
		}
		keys, args := s.onShelf(least, keys, args)
		answer, err := s.askConfirmed(ctx, script, keys, args...)
		if err != nil {
			return nil, changeCounts{}, err
		}
		if is(answer, "shelf", 2) {
			if err := s.adopt(ctx, least.epoch, answer[1]); err != nil {
				return nil, changeCounts{}, err
			}
			continue
		}
		last := len(answer) - 2
		at := changeCounts{epoch: least.epoch}
		if last < 0 || parseNumbers(answer[last:], &at.changes, &at.own) != nil {
			return nil, changeCounts{}, unknownAnswer(answer)
		}
		s.shelf.learn(at)
		return answer[:last], at, nil
	}
}

// onShelf appends the keys and arguments that lua/shelf.lua reads.
func (s *Sale) onShelf(least changeCounts, keys []string, args []any) ([]string, []any) {
	return append(slices.Clip(keys), s.acknowledgedKey(least.epoch), s.key(keyShelf)),
		append(slices.Clip(args), least.epoch, least.changes, least.own)
}

// acknowledgedKey returns the key of the number of changes that were acknowledged to this process
// in an epoch.
func (s *Sale) acknowledgedKey(epoch string) string {
	return s.key(keyAcknowledged + epoch + ":" + s.process)
}

// adopt handles the refusal of a script by the shelf. It returns nil if the shelf was rebuilt
// since, and its new epoch is known.
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
		return closedShelf(why) // the shelf may have been opened since; the next call uses it
	}
	return nil
}

// reasons describes why a shelf is closed.
var reasons = map[string]string{
	"forgot":    "the store has lost everything",
	"behind":    "the store has lost changes",
	"other":     "the store has another shelf than the book",
	"restoring": "the shelf is being rebuilt",
	"unopened":  "the store has no shelf for this database yet: a shop opens it",
}

func closedShelf(why string) error {
	return fmt.Errorf("%w: %s", ErrStockUnknown, cmp.Or(reasons[why], "the store says "+format.Quote(why)))
}

// Probe compares the store with the book, closes a shelf that has lost data, and opens a new one.
// It returns nil if stock is known, and an ErrStockUnknown (or ErrForeign) with the reason if not.
// After another error the comparison was impossible, and the previous result still holds. Every
// process calls it before it sells, and should call it each second (see Sale.Watch). It does
// nothing without Options.Book.
func (s *Sale) Probe(ctx context.Context) error { return s.probe(ctx, true) }

// probe is Probe, and opens a new shelf only if the caller may.
func (s *Sale) probe(ctx context.Context, opens bool) error {
	if s.options.Book == nil {
		return nil
	}
	select {
	case s.shelf.comparing <- struct{}{}:
		defer func() { <-s.shelf.comparing }()
	case <-ctx.Done():
		return fmt.Errorf("stock: probe: %w", context.Cause(ctx))
	}
	const tries = 3 // the shelf may be rebuilt between the book and the store
	for try := 1; ; try++ {
		b, err := s.options.Book.book(ctx, s.ID())
		if err != nil {
			return s.uncompared(ctx, err)
		}
		changes, err := s.compare(ctx, b, opens)
		if errors.Is(err, errOtherEpoch) && try < tries {
			continue
		}
		if err != nil && !errors.Is(err, ErrStockUnknown) {
			return s.uncompared(ctx, err)
		}
		s.shelf.found(b.epoch, changes, err)
		return err
	}
}

// uncompared returns the error of an impossible comparison. Stock is unknown if there was none before, or
// if the store lacks what this process has seen: that needs no book.
func (s *Sale) uncompared(ctx context.Context, err error) error {
	err = fmt.Errorf("stock: compare the store with the book: %w", err)
	s.shelf.mu.Lock()
	least := s.shelf.least()
	s.shelf.mu.Unlock()
	if least.epoch != "" && !s.lacks(ctx, least) {
		return err
	}
	err = fmt.Errorf("%w: %w", ErrStockUnknown, err)
	s.shelf.found("", 0, err)
	return err
}

// lacks reports whether the store answers that it lacks changes or the epoch. The book may have used up ctx.
func (s *Sale) lacks(ctx context.Context, least changeCounts) bool {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), comparePause)
	defer stop()
	keys, args := s.onShelf(least, nil, nil)
	answer, err := s.runScript(ctx, seenScript, keys, args...)
	return err == nil && is(answer, "shelf", 2)
}

// errOtherEpoch is the error of a shelf whose epoch is not the book's.
var errOtherEpoch = closedShelf("other")

// compare runs the script that compares the shelf with the book and with the counts that this
// process has seen.
func (s *Sale) compare(ctx context.Context, b book, opens bool) (changes int64, err error) {
	s.shelf.mu.Lock()
	least := s.shelf.least()
	s.shelf.mu.Unlock()
	keys := append(s.keys(keyShelf, keyPut, keyHalted), s.acknowledgedKey(least.epoch))
	answer, err := s.runScript(ctx, compareScript, keys, b.identity, b.epoch, b.mark, b.products, least.epoch, least.changes, least.own, b.changes, opens)
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
	return 0, unknownAnswer(answer)
}

func foreign(b book, other string) error {
	return fmt.Errorf("%w: it keeps the shelf of database %s, this one is %s; all processes of a sale need the same database, and an SQLite file is for one host", ErrForeign, format.Quote(other), format.Quote(b.identity))
}

// watchEvery is the interval at which a process compares the store with the book.
const watchEvery = time.Second

// Watch calls Sale.Probe each second until ctx ends. It logs when stock becomes unknown ("stock
// unknown", an error) and known again ("stock known"). Between two comparisons a process notices
// only the loss of changes that the store acknowledged to this process. Watch returns at once
// without Options.Book. The logger may be nil.
func (s *Sale) Watch(ctx context.Context, log *slog.Logger) {
	if s.options.Book == nil {
		return
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	every := time.NewTicker(watchEvery)
	defer every.Stop()
	logged := "" // the last reason
	for {
		bounded, stop := context.WithTimeout(ctx, askTime)
		err := s.Probe(bounded)
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
