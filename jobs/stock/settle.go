package stock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// The job that SettleOrders makes, and the default of its batch.
const (
	SettleOrdersName = "settleOrders"
	SettleOrdersSpec = "* * * * * ?" // every second
	DefaultBatch     = 1000
	MaxBatch         = 10_000
)

// progressEvery is how often a run that has much to do logs how far it is.
const progressEvery = 5 * time.Second

// SettleOrders is the job settleOrders: each run writes the orders that are new or
// have changed into the database, a batch at a time, until none is left. Batch is
// how many it holds in memory and writes in one transaction, 1 to MaxBatch; a value
// outside is moved to the nearest inside, 0 is DefaultBatch. Its fields may be
// changed before it is registered. A tick is skipped while the run before still
// works, and that of a dead node is run again: both are the same work.
//
// An order that the database refuses for what it is, or whose record cannot be
// read, does not keep the others: it is kept back and named in the log, its run
// fails, and the next run tries it again. So is what was put in of a product and cannot be
// read, with all else that was put in of it.
//
// A sale with Options.Book is compared with it first. A run fails on one whose stock
// is not known, unless Options.Restore lets it rebuild the shelf.
//
// It panics without a sale or a database, or with another one than Options.Book.
func SettleOrders(s *Sale, b *Database, batch int) scheduler.Job {
	if s == nil || b == nil {
		panic("stock: SettleOrders needs a sale and a database")
	}
	if s.options.Book != nil && s.options.Book != b {
		panic("stock: SettleOrders needs the database that is the book of the sale")
	}
	if batch == 0 {
		batch = DefaultBatch
	}
	batch = min(max(1, batch), MaxBatch)
	return scheduler.Job{
		Name: SettleOrdersName, Spec: SettleOrdersSpec, Takeover: scheduler.TakeoverRerun, Lease: lease,
		Func: func(ctx context.Context, run *scheduler.Run) error {
			return newSettler(s, b, batch, workOf(run)).run(ctx)
		},
	}
}

// A settler is one run of settleOrders.
type settler struct {
	sale     *Sale
	database *Database
	batch    int
	every    time.Duration // how often to log how far it is
	work     work
	epoch    string // of the book, of a sale that keeps one

	began    time.Time
	logged   time.Time
	orders   int // settled so far
	disputed int
	lost     int
	kept     map[string]bool  // ids of orders that are kept back
	refused  int              // of them, those that the database refuses
	problem  error            // with the first of them
	unread   map[string]error // products of which something that was put in cannot be read
	later    map[string]bool  // products whose total must wait for orders
	halted   map[string]bool  // products whose books do not balance
}

func newSettler(s *Sale, b *Database, batch int, w work) *settler {
	now := time.Now()
	return &settler{sale: s, database: b, batch: batch, every: progressEvery, work: w, began: now, logged: now, kept: map[string]bool{},
		unread: map[string]error{}, later: map[string]bool{}, halted: map[string]bool{}}
}

func (s *settler) run(ctx context.Context) error {
	if err := s.work.may(ctx, "migrate"); err != nil {
		return err
	}
	if err := s.database.Migrate(ctx); err != nil {
		return err
	}
	if err := s.probe(ctx); err != nil {
		return err
	}
	err := s.batches(ctx)
	if err == nil {
		err = s.halt(ctx)
	}
	if s.orders > 0 {
		s.work.log.Info("orders settled", s.pace()...)
	}
	if err == nil && s.lost+s.disputed > 0 {
		err = fmt.Errorf("stock: settle: %d orders are disputed, %d lost", s.disputed, s.lost)
	}
	if s.problem != nil {
		err = errors.Join(err, fmt.Errorf("stock: settle: %d orders are kept back, the first: %w", len(s.kept), s.problem))
	}
	return errors.Join(err, s.unreadError())
}

// probe compares the store with the book, and rebuilds the shelf if it may.
func (s *settler) probe(ctx context.Context) error {
	if s.sale.options.Book == nil {
		return nil
	}
	b, err := s.sale.probe(ctx)
	if errors.Is(err, ErrStockUnknown) && !errors.Is(err, ErrForeign) && s.sale.options.Restore {
		s.work.log.Warn("stock unknown", slog.String("err", err.Error()))
		var r Restored
		if r, err = s.sale.restoreAfter(ctx, restoreSilence, nil); err == nil {
			r.Log(s.work.log)
			b, err = s.sale.probe(ctx)
		}
	}
	s.epoch = b.epoch
	return err
}

// batches settles until nothing is left, or what is left cannot be settled.
func (s *settler) batches(ctx context.Context) error {
	for s.refused <= maxKept && len(s.kept) <= maxUnread {
		kept := len(s.kept)
		h, moved, err := s.next(ctx)
		if err != nil || moved == 0 && len(s.kept) == kept {
			return err
		}
		s.orders += moved
		if left := h.left - int64(moved); time.Since(s.logged) >= s.every {
			s.logged = time.Now()
			s.work.log.Info("orders being settled", append(s.pace(), slog.Int64("left", left))...)
		}
		if h.found < s.batch {
			return nil // what came since is the next tick's
		}
	}
	return nil
}

// pace is the log fields of the run so far.
func (s *settler) pace() []any {
	took := time.Since(s.began)
	return []any{slog.Int("orders", s.orders), slog.Int64("took_ms", took.Milliseconds()),
		slog.Int64("per_second", int64(float64(s.orders)/max(took.Seconds(), 1e-3)))}
}

// next settles one batch: it reads, writes to the database, and only then marks.
// A run that stops in between leaves work that is done again to no effect.
func (s *settler) next(ctx context.Context) (h haul, moved int, err error) {
	if err := s.work.may(ctx, "take"); err != nil {
		return haul{}, 0, err
	}
	if h, err = s.sale.take(ctx, s.work.fence, s.batch, s.kept); err != nil {
		return haul{}, 0, err
	}
	for _, u := range h.unread {
		s.keep(u.id, u.err)
	}
	s.keepLines(h.lines)
	if len(h.records)+len(h.totals)+len(h.supplies)+len(h.lost) == 0 {
		return h, 0, nil
	}
	if h.epoch, h.ahead = s.epoch, s.sale.options.Settled; h.epoch != "" {
		h.number = func(ctx context.Context, at position, h *haul) (position, error) {
			return s.sale.number(ctx, s.work.fence, at, h)
		}
	}
	done, err := s.write(ctx, &h)
	if err != nil {
		return haul{}, 0, err
	}
	if err := s.work.may(ctx, "mark"); err != nil {
		return haul{}, 0, err
	}
	moved, err = s.mark(ctx, h, done)
	s.tellRefunds(h.records)
	return h, moved, err
}

// tellRefunds logs the payments that orders could not take, and which did not go back yet.
func (s *settler) tellRefunds(records []Record) {
	for _, r := range records {
		for _, p := range r.ToRefund() {
			s.work.log.Warn("payment to refund", slog.String("order", r.ID), slog.String("reference", p.Reference),
				slog.Int64("amount", p.Amount), slog.String("currency", p.Currency), slog.String("state", string(r.State)))
		}
	}
}

// mark records in the store what the database has. A total that was not written is found
// again by the next run.
func (s *settler) mark(ctx context.Context, h haul, done []settlement) (moved int, err error) {
	for _, d := range done {
		if d.instead != "" {
			s.disputed++
			s.work.log.Error("order disputed", slog.String("order", d.id), slog.String("store", d.stamp), slog.String("database", d.instead))
		}
	}
	for _, id := range h.lost {
		s.lost++
		s.work.log.Error("order lost", slog.String("order", id))
		done = append(done, settlement{id: id})
	}
	if moved, err = s.sale.settled(ctx, s.work.fence, done); err != nil {
		return moved, err
	}
	totals := slices.DeleteFunc(h.totals, func(t total) bool { return s.later[t.sku] })
	if err := s.sale.stocked(ctx, s.work.fence, h.mark, totals); err != nil {
		return moved, err
	}
	return moved, s.sale.supplied(ctx, s.work.fence, h.supplies)
}
