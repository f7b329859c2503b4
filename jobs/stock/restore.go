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

// ErrNothingToRestore means that the shelf has everything that the book has.
var ErrNothingToRestore = errors.New("the shelf is as the book has it: there is nothing to restore")

// Restored is the result of a rebuild.
type Restored struct {
	Epoch    string   // epoch of the new shelf
	Products int      // products on the shelf
	Open     int      // reserved orders on the shelf
	Closed   int      // orders in a last state whose ids the shelf knows again
	Dropped  []string // ids of orders that the store still had and that were not settled: the book's state of them holds
}

// Log logs the result: "stock restored", and "order dropped" for each of the first dropped orders.
func (r *Restored) Log(log *slog.Logger) {
	for _, id := range r.Dropped[:min(maxLogged, len(r.Dropped))] {
		log.Error("order dropped", slog.String("order", id))
	}
	log.Warn("stock restored", slog.Int("products", r.Products), slog.Int("open", r.Open), slog.Int("closed", r.Closed), slog.Int("dropped", len(r.Dropped)))
}

// Restore rebuilds the shelf of a sale with Options.Book from the book: the counts of each product,
// all reserved orders with their deadlines, and the ids of the orders that Options.Retention still
// keeps. It takes nothing over from the store: orders and changes of products that were not settled
// are dropped, also those that the store still has. Options.Settled and the methods of sellers
// acknowledge none of these.
//
// The shelf is closed until the last step opens it. A rebuild that is interrupted leaves it closed,
// and the next rebuild begins again. Restore refuses with ErrUnderWay if another rebuild made
// a step within the last 5 s, with ErrNothingToRestore, and with ErrForeign if the store holds the
// shelf of another database.
func (s *Sale) Restore(ctx context.Context) (Restored, error) {
	return s.restoreAfter(ctx, restoreSilence)
}

// RestoreNow is Restore, but it ends another rebuild that is under way.
func (s *Sale) RestoreNow(ctx context.Context) (Restored, error) {
	return s.restoreAfter(ctx, 0)
}

// ErrUnderWay is an ErrStockUnknown: another rebuild of the shelf is under way.
var ErrUnderWay = fmt.Errorf("%w: a rebuild is under way", ErrStockUnknown)

// restoreSilence is the time without a step after which a rebuild counts as interrupted. Between
// two steps it writes up to 1000 orders into the book.
const restoreSilence = 5 * time.Second

// restoreAfter is Restore, except that it refuses if another rebuild made a step less than silence
// ago. Otherwise two callers that retry could replace each other's rebuilds forever.
func (s *Sale) restoreAfter(ctx context.Context, silence time.Duration) (Restored, error) {
	r, err := s.restore(ctx, silence)
	if err != nil {
		return Restored{}, fmt.Errorf("stock: restore: %w", err)
	}
	_ = s.Probe(ctx) // lets this process continue at once; after an error it compares again before it sells
	return r, nil
}

var errNoBook = &FieldError{"book", "nil", "the database that the sale is settled into"}

func (s *Sale) restore(ctx context.Context, silence time.Duration) (r Restored, err error) {
	b := s.options.Book
	if b == nil {
		return r, errNoBook
	}
	if r.Epoch, err = b.newEpoch(ctx, s.ID(), func(before book, epoch string) error { return s.begin(ctx, before, epoch, silence) }); err != nil {
		return r, err
	}
	var left []string
	if r.Dropped, left, err = s.remainingOrders(ctx); err != nil {
		return r, err
	}
	if err := s.clear(ctx, r.Epoch, left); err != nil {
		return r, err
	}
	if r.Products, err = s.restoreProducts(ctx, r.Epoch); err != nil {
		return r, err
	}
	if err := s.restoreOrders(ctx, &r); err != nil {
		return r, err
	}
	if err := s.restoreBuyers(ctx, r.Epoch); err != nil {
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

// errOver is the error of a rebuild that a later one has replaced, or that the store has lost.
var errOver = errors.New("another rebuild has begun, or the store has lost this one")

// step runs a script of a rebuild.
func (s *Sale) step(ctx context.Context, script *redis.Script, keys []string, args ...any) error {
	answer, err := s.runScript(ctx, script, keys, args...)
	switch {
	case err != nil:
		return err
	case is(answer, "ok", 1):
		return nil
	case is(answer, "over", 1):
		return errOver
	}
	return unknownAnswer(answer)
}

// begin closes the shelf for the rebuild.
func (s *Sale) begin(ctx context.Context, before book, epoch string, silence time.Duration) error {
	answer, err := s.runScript(ctx, beginScript, s.keys(keyShelf), before.identity, epoch, before.epoch, before.mark, before.changes, silence.Milliseconds())
	switch {
	case err != nil:
		return err
	case is(answer, "ok", 1):
		return nil
	case is(answer, "open", 1):
		return ErrNothingToRestore
	case is(answer, "foreign", 2):
		return foreign(before, answer[1])
	case is(answer, "restoring", 2):
		return fmt.Errorf("%w, with its last step %s ms ago", ErrUnderWay, answer[1])
	}
	return unknownAnswer(answer)
}

// remainingOrders reads the remaining orders of a shelf that is to be rebuilt: orders whose state the book
// lacks, and all open or changed ones. It is closed, so nothing changes meanwhile.
func (s *Sale) remainingOrders(ctx context.Context) (unsettled, all []string, err error) {
	for _, list := range []string{keyUnsettled, keyFresh, keyDue} {
		if list == keyDue {
			unsettled = slices.Compact(slices.Sorted(slices.Values(all)))
		}
		if err := s.members(ctx, list, func(ids []string) error { all = append(all, ids...); return nil }); err != nil {
			return nil, nil, err
		}
	}
	return unsettled, all, nil
}

// clear removes the data of the store.
func (s *Sale) clear(ctx context.Context, epoch string, left []string) error {
	for some := range slices.Chunk(left, maxBatch) {
		if err := s.step(ctx, clearScript, s.orderKeys(some, keyShelf), epoch); err != nil {
			return fmt.Errorf("remove old orders: %w", err)
		}
	}
	err := s.step(ctx, clearScript, s.keys(keyShelf, keyPut, keyStock, keyReserved, keySold,
		keyFresh, keyDue, keyUnsettled, keyRestocked, keyOffer, keyBought), epoch)
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
		if err := s.step(ctx, productsScript, s.keys(keyShelf, keyPut, keyStock, keyReserved, keySold, keyOffer), args...); err != nil {
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
