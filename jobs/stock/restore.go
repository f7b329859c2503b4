package stock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNothingToRestore says that the shelf has lost nothing that the book knows of.
var ErrNothingToRestore = errors.New("the shelf is as the book has it: there is nothing to restore")

// A Loss is an order, or what was put in of a product, that a rebuild could not take
// over from the store.
type Loss struct {
	ID     string // of the order, or empty
	SKU    string // of the product, or empty
	State  State  // what the store has of the order; empty: it has no readable record
	Reason string
}

// Restored is what a rebuild has done, or would do.
type Restored struct {
	Epoch    string   // of the new shelf
	Products int      // on the shelf
	Open     int      // reserved orders on the shelf
	Closed   int      // orders in a last state whose ids are known again
	Disputed int      // orders that an operator must decide about: see Sale.Disputes
	Taken    []string // ids of orders that the store still had and the book did not, or not as far: now it has
	Lost     []Loss   // what was not taken over; a person decides
}

// Log logs what was done: stock restored, and not restored for each of the first
// losses.
func (r *Restored) Log(log *slog.Logger) {
	for _, l := range r.Lost[:min(maxTold, len(r.Lost))] {
		log.Error("not restored", slog.String("order", l.ID), slog.String("sku", l.SKU), slog.String("state", string(l.State)), slog.String("reason", l.Reason))
	}
	log.Warn("stock restored", slog.Int("products", r.Products), slog.Int("open", r.Open), slog.Int("closed", r.Closed),
		slog.Int("taken", len(r.Taken)), slog.Int("lost", len(r.Lost)))
}

// Restore rebuilds the shelf of a sale with Options.Book from the book: what was put in,
// reserved and sold of each product, all reserved orders with their deadlines, and
// the ids of the others that Options.Retention still keeps. Before, it settles what
// was accepted and the store still has. Orders that were accepted and are gone from
// the store, before they were settled, it cannot know: each process that watches lists
// those that it has acknowledged itself (see Sale.Watch). What it does not take over is in the same list: see LostOrders.
//
// The shelf is closed until the last step opens it. A rebuild that was ended in the
// middle leaves it closed, and the next begins again; of two at once the later goes
// on, and the other returns an error (settleOrders begins none while another makes steps). It refuses with ErrNothingToRestore, and with
// ErrForeign where another database keeps the shelf.
func (s *Sale) Restore(ctx context.Context) (Restored, error) {
	return s.restoreAfter(ctx, 0, nil)
}

// RestoreOptions are those of Sale.RestoreWith.
type RestoreOptions struct {
	// Log is an append log of the store: what it has of orders that were accepted
	// and that neither the store nor the book has, or not as far, is settled, too. It comes into the book as what
	// the store still has does: as far as there is room. Nil: none.
	Log *AppendLog
	// TakeOver ends a rebuild that is under way, as Restore does. Otherwise one that has made a step within 5 s is left to its end, and
	// the answer is an *UnderWayError.
	TakeOver bool
}

// RestoreWith is Restore with options.
func (s *Sale) RestoreWith(ctx context.Context, o RestoreOptions) (Restored, error) {
	silence := restoreSilence
	if o.TakeOver {
		silence = 0
	}
	return s.restoreAfter(ctx, silence, o.Log)
}

// An UnderWayError is an ErrStockUnknown: another rebuild of the shelf is under way.
type UnderWayError struct {
	Since  time.Time     // by the store's clock
	Silent time.Duration // for which it has made no step
}

func (e *UnderWayError) Error() string {
	return fmt.Sprintf("%s: a rebuild is under way since %s, with its last step %v ago", ErrStockUnknown, showTime(e.Since), e.Silent)
}

// Is makes the error an ErrStockUnknown.
func (e *UnderWayError) Is(target error) bool { return target == ErrStockUnknown }

// restoreSilence is for how long a rebuild makes no step before it is taken for one that was ended in the
// middle. Between two steps it writes up to DefaultBatch orders into the book.
const restoreSilence = 5 * time.Second

// restoreAfter is Restore, unless another rebuild has made a step less than silence ago: it
// is left to its end. Two callers that try again would end each other's for ever.
func (s *Sale) restoreAfter(ctx context.Context, silence time.Duration, log *AppendLog) (Restored, error) {
	r, err := s.restore(ctx, silence, log)
	if err != nil {
		return Restored{}, fmt.Errorf("stock: restore: %w", err)
	}
	_ = s.Probe(ctx) // so that this process goes on at once; if it cannot look now, it does before it sells
	return r, nil
}

// WouldRestore returns what Restore would do, and changes nothing. It does not count
// what would be on the shelf.
func (s *Sale) WouldRestore(ctx context.Context) (Restored, error) {
	return s.WouldRestoreWith(ctx, nil)
}

// WouldRestoreWith returns what RestoreWith would do, as WouldRestore does.
func (s *Sale) WouldRestoreWith(ctx context.Context, log *AppendLog) (Restored, error) {
	if s.options.Book == nil {
		return Restored{}, fmt.Errorf("stock: restore: %w", errNoBook)
	}
	if _, err := s.probe(ctx); err == nil {
		return Restored{}, fmt.Errorf("stock: restore: %w", ErrNothingToRestore)
	} else if !errors.Is(err, ErrStockUnknown) || errors.Is(err, ErrForeign) {
		return Restored{}, fmt.Errorf("stock: restore: %w", err)
	}
	_, p, err := s.plan(ctx, log)
	if err != nil {
		return Restored{}, fmt.Errorf("stock: restore: %w", err)
	}
	return Restored{Products: p.products, Taken: ids(p.take), Lost: p.lost}, nil
}

var errNoBook = &FieldError{"book", "nil", "the database that the sale is settled into"}

func (s *Sale) restore(ctx context.Context, silence time.Duration, log *AppendLog) (r Restored, err error) {
	b := s.options.Book
	if b == nil {
		return r, errNoBook
	}
	if r.Epoch, err = b.newEpoch(ctx, s.ID(), func(before book, epoch string) error { return s.begin(ctx, before, epoch, silence) }); err != nil {
		return r, err
	}
	left, p, err := s.plan(ctx, log)
	if err != nil {
		return r, err
	}
	if err := b.settleLeft(ctx, s.ID(), r.Epoch, p); err != nil {
		return r, err
	}
	r.Taken, r.Lost = ids(p.take), p.lost
	if err := s.clear(ctx, r.Epoch, left); err != nil {
		return r, err
	}
	if r.Products, err = s.restoreProducts(ctx, r.Epoch); err != nil {
		return r, err
	}
	if err := s.restoreSupplies(ctx, r.Epoch); err != nil {
		return r, err
	}
	if err := s.restoreOrders(ctx, &r); err != nil {
		return r, err
	}
	if err := s.restoreBuyers(ctx, r.Epoch); err != nil {
		return r, err
	}
	if err := s.restoreDisputes(ctx, &r); err != nil {
		return r, err
	}
	at, err := b.book(ctx, s.ID())
	if err == nil && at.epoch != r.Epoch {
		err = errOver
	}
	if err != nil {
		return r, err
	}
	return r, s.step(ctx, openScript, s.keys(keyShelf), r.Epoch)
}

// errOver is that of a rebuild that another one has come after, or whose store has
// lost it.
var errOver = errors.New("another rebuild has begun, or the store has lost this one")

// step asks a script of a rebuild.
func (s *Sale) step(ctx context.Context, script *redis.Script, keys []string, args ...any) error {
	answer, err := s.ask(ctx, script, keys, args...)
	switch {
	case err != nil:
		return err
	case is(answer, "ok", 1):
		return nil
	case is(answer, "over", 1):
		return errOver
	case is(answer, "open", 1):
		return ErrNothingToRestore
	}
	return strange(answer)
}

// begin closes the shelf for the rebuild.
func (s *Sale) begin(ctx context.Context, before book, epoch string, silence time.Duration) error {
	answer, err := s.ask(ctx, beginScript, s.keys(keyShelf), before.identity, epoch, before.epoch, before.mark, before.changes, silence.Milliseconds())
	switch {
	case err != nil:
		return err
	case is(answer, "ok", 1):
		return nil
	case is(answer, "open", 1):
		return ErrNothingToRestore
	case is(answer, "foreign", 2):
		return foreign(before, answer[1])
	case is(answer, "restoring", 3):
		var since, silent int64
		if err := parseNumbers(answer[1:], &since, &silent); err != nil {
			return strange(answer)
		}
		return &UnderWayError{time.UnixMilli(since).UTC(), time.Duration(silent) * time.Millisecond}
	}
	return strange(answer)
}

// A rebuilding is what is taken over from the store into the book.
type rebuilding struct {
	take     []Record
	totals   []total
	supplies []supply
	lost     []Loss
	disputes []disputed // paid orders that are not taken over: an operator decides about them
	products int        // that there will be
}

// plan decides what is taken over from the store.
func (s *Sale) plan(ctx context.Context, log *AppendLog) (left leftover, p rebuilding, err error) {
	if left, err = s.leftover(ctx); err != nil {
		return left, p, fmt.Errorf("read what the store still has: %w", err)
	}
	if log != nil {
		if err := s.join(ctx, log, &left.haul); err != nil {
			return left, p, fmt.Errorf("compare the append log: %w", err)
		}
	}
	products, err := s.options.Book.products(ctx, s.ID())
	if err != nil {
		return left, p, err
	}
	found := map[string]row{}
	wanted := slices.Concat(ids(left.haul.records), left.haul.lost)
	for _, u := range left.haul.unread {
		wanted = append(wanted, u.id)
	}
	for some := range slices.Chunk(wanted, maxBatch) {
		rows, err := s.options.Book.find(ctx, s.ID(), some)
		if err != nil {
			return left, p, fmt.Errorf("look up orders: %w", err)
		}
		maps.Copy(found, rows)
	}
	var f fit
	f, p.totals = left.fits(products, found)
	p.take, p.lost, p.disputes = f.take, append(left.lost, f.lost...), f.disputes
	if err := s.planSupplies(ctx, left.supplies, products, &p); err != nil {
		return left, p, err
	}
	p.products = len(products)
	for _, t := range p.totals {
		if _, known := products[t.sku]; !known {
			p.products++
		}
	}
	return left, p, nil
}

// settleLeft writes what is taken over into the book.
func (b *Database) settleLeft(ctx context.Context, sale, epoch string, p rebuilding) error {
	for i, h := range append([]haul{{totals: p.totals, supplies: p.supplies}}, hauls(p.take)...) {
		err := b.transact(ctx, sale, func(tx *transaction) error {
			if err := tx.turn(ctx, position{epoch: epoch}); err != nil {
				return err
			}
			if _, _, err := tx.settle(ctx, h); err != nil {
				return err
			}
			if err := tx.writeDisputes(ctx, planned{disputes: p.disputes}); err != nil || i > 0 {
				return err
			}
			return tx.writeLost(ctx, fromRebuild, p.lost)
		})
		if err != nil {
			return fmt.Errorf("settle what the store still has: %w", err)
		}
	}
	return nil
}

func hauls(records []Record) (hauls []haul) {
	for some := range slices.Chunk(records, DefaultBatch) {
		hauls = append(hauls, haul{records: some})
	}
	return hauls
}

// clear removes what the store had, but for what it has of disputes: see restoreDisputes.
func (s *Sale) clear(ctx context.Context, epoch string, left leftover) error {
	for some := range slices.Chunk(slices.Collect(maps.Keys(left.open)), maxBatch) {
		if err := s.step(ctx, clearScript, s.orderKeys(some, keyShelf), epoch); err != nil {
			return fmt.Errorf("remove old orders: %w", err)
		}
	}
	for some := range slices.Chunk(left.supplies, maxBatch) {
		if err := s.step(ctx, clearScript, append(s.keys(keyShelf), s.supplyKeys(some)...), epoch); err != nil {
			return fmt.Errorf("remove what was added: %w", err)
		}
	}
	err := s.step(ctx, clearScript, s.keys(keyShelf, keyPut, keyNames, keyStock, keyReserved, keySold, keySettled,
		keyFresh, keyDue, keyUnsettled, keyRestocked, keyRecent, keyOffer, keyReturned, keyRestored, keySupplied, keyBought), epoch)
	if err != nil {
		return fmt.Errorf("remove old counts: %w", err)
	}
	return nil
}

// restoreProducts puts the book's products onto the shelf.
func (s *Sale) restoreProducts(ctx context.Context, epoch string) (int, error) {
	products, err := s.options.Book.products(ctx, s.ID())
	if err != nil {
		return 0, err
	}
	for skus := range slices.Chunk(slices.Sorted(maps.Keys(products)), maxBatch) {
		args := make([]any, 1, 1+6*len(skus))
		args[0] = epoch
		for _, sku := range skus {
			p := products[sku]
			args = append(args, sku, p.Put, max(0, p.Put-p.Reserved-p.Sold), p.Reserved, p.Sold, p.line())
		}
		if err := s.step(ctx, productsScript, s.keys(keyShelf, keyPut, keyStock, keyReserved, keySold, keySettled, keyOffer, keyNames), args...); err != nil {
			return 0, fmt.Errorf("put products: %w", err)
		}
	}
	return len(products), nil
}

// restoreOrders puts the book's orders onto the shelf.
func (s *Sale) restoreOrders(ctx context.Context, r *Restored) error {
	b, after := s.options.Book, ""
	for {
		orders, err := b.page(ctx, s.ID(), after, s.options.Retention.Milliseconds(), maxBatch)
		if err != nil {
			return fmt.Errorf("read the book's orders: %w", err)
		}
		if len(orders) == 0 {
			return nil
		}
		after = orders[len(orders)-1].ID
		names := make([]string, len(orders))
		args := []any{r.Epoch}
		for i, o := range orders {
			line, err := o.line()
			if err != nil {
				return fmt.Errorf("order %q: %w", o.ID, err)
			}
			names[i] = o.ID
			if o.State.open() {
				r.Open++
				args = append(args, o.ID, line, strconv.FormatInt(o.Due.UnixMilli(), 10), "")
			} else {
				r.Closed++
				args = append(args, o.ID, line, "", strconv.FormatInt(max(1, o.keep), 10))
			}
		}
		if err := s.step(ctx, ordersScript, s.orderKeys(names, keyShelf, keyDue), args...); err != nil {
			return fmt.Errorf("put orders: %w", err)
		}
		if err := s.restoreReferences(ctx, r.Epoch, orders); err != nil {
			return fmt.Errorf("put references: %w", err)
		}
	}
}

// restoreReferences puts the references of orders' payments onto the shelf.
func (s *Sale) restoreReferences(ctx context.Context, epoch string, orders []booked) error {
	keys, args := s.keys(keyShelf), []any{epoch, s.options.Retention.Milliseconds()}
	for _, o := range orders {
		for _, p := range o.Payments {
			keys, args = append(keys, s.key(keyReference+p.Reference)), append(args, o.ID)
		}
	}
	if len(keys) == 1 {
		return nil
	}
	return s.step(ctx, referencesScript, keys, args...)
}
