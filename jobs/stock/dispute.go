package stock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The refusals of a decision. Nothing was changed.
var (
	ErrNoDispute  = errors.New("the order is not disputed")
	ErrDecided    = errors.New("another decision about the order was made before")
	ErrNotOnShelf = errors.New("the store does not have the disputed order any more: refund or drop it, and let it be placed again")
)

// A Dispute is an order that the store accepted although the book has another order in a last state
// under the same id. The id was used again after the store forgot it (Options.Retention), or the
// store had lost the order. The book keeps its own order and a copy of the disputed one until an
// operator decides.
type Dispute struct {
	Record
	BookHas string    // state and time of the book's order; empty: none, a rebuild found no room for the disputed order
	Found   time.Time // when the dispute was found

	line string // the record in the store's format
}

// Disputes returns the first 10,000 undecided disputes, oldest first. They come from the book, so
// they include orders for which a rebuilt shelf has no stock. It needs Options.Book.
func (s *Sale) Disputes(ctx context.Context) ([]Dispute, error) {
	if s.options.Book == nil {
		return nil, fmt.Errorf("stock: disputes: %w", errNoBook)
	}
	return s.options.Book.disputes(ctx, s.ID(), "")
}

// CountDisputes counts the undecided disputes. A scrape may call it: it creates no tables and
// returns when ctx ends. It needs Options.Book.
func (s *Sale) CountDisputes(ctx context.Context) (int64, error) {
	if s.options.Book == nil {
		return 0, fmt.Errorf("stock: count the disputes: %w", errNoBook)
	}
	return s.options.Book.countDisputes(ctx, s.ID())
}

func (b *Database) countDisputes(ctx context.Context, sale string) (n int64, err error) {
	err = b.db.QueryRowContext(ctx, b.dialect.Bind("SELECT COUNT(*) FROM stock_dispute WHERE sale = ?"), sale).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("stock: count the disputes: %w", err)
	}
	return n, nil
}

// Dispute returns the oldest disputed order with an id, or ErrNoDispute. It needs Options.Book.
func (s *Sale) Dispute(ctx context.Context, id string) (Dispute, error) {
	if s.options.Book == nil {
		return Dispute{}, fmt.Errorf("stock: dispute %s: %w", quote(id), errNoBook)
	}
	found, err := s.options.Book.disputes(ctx, s.ID(), id)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("stock: dispute %s: %w", quote(id), ErrNoDispute)
	}
	if err != nil {
		return Dispute{}, err
	}
	return found[0], nil
}

const maxDisputes = 10_000

// disputes reads the disputes of a sale; with an id, those of this id.
func (b *Database) disputes(ctx context.Context, sale, id string) ([]Dispute, error) {
	if err := b.Migrate(ctx); err != nil {
		return nil, err
	}
	query := b.dialect.Bind("SELECT order_id, record, book_has, found_at FROM stock_dispute WHERE sale = ? AND (? = '' OR order_id = ?)" +
		" ORDER BY placed_at, order_id LIMIT " + strconv.Itoa(maxDisputes))
	rows, err := b.db.QueryContext(ctx, query, sale, id, id)
	if err != nil {
		return nil, fmt.Errorf("stock: read the disputes: %w", err)
	}
	defer rows.Close()
	var all []Dispute
	for rows.Next() {
		var d Dispute
		var id string
		var found int64
		err := rows.Scan(&id, &d.line, &d.BookHas, &found)
		if err == nil {
			d.Record, err = parseRecord(id, d.line)
		}
		if err != nil {
			return nil, fmt.Errorf("stock: read the disputes: %w", err)
		}
		d.Found = time.UnixMilli(found).UTC()
		all = append(all, d)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("stock: read the disputes: %w", err)
	}
	return all, nil
}

// An Action is the kind of a decision.
type Action string

// Accept, Refund and Drop decide about a disputed order. The others record further actions of
// operators.
const (
	Accept Action = "accept" // the order continues under another id
	Refund Action = "refund" // its items are back in stock, and the payment is refunded
	Drop   Action = "drop"   // its items are back in stock
	Free   Action = "free"   // a reservation was ended before its time
	Repair Action = "repair" // the shelf was rebuilt, or counts of the book were recomputed
)

// A Decision is an action of an operator, as recorded in the table stock_decision.
type Decision struct {
	Action Action
	Order  string // the id, or empty
	SKU    string // or empty
	NewID  string // of a disputed order that was accepted
	By     string // the operator: 1 to 200 characters
	Reason string // 1 to 500 characters
	Made   time.Time

	storeHas, bookHas string
}

// The longest By and Reason of a Decision, in characters.
const (
	MaxBy     = 200
	MaxReason = 500
)

func (d *Decision) faults() error {
	var faults []error
	for _, f := range []struct {
		name, text string
		most       int
	}{{"by", d.By, MaxBy}, {"reason", d.Reason, MaxReason}} {
		if n := utf8.RuneCountInString(f.text); strings.TrimSpace(f.text) == "" || n > f.most || !utf8.ValidString(f.text) || strings.ContainsRune(f.text, 0) {
			faults = append(faults, &FieldError{f.name, quote(f.text), fmt.Sprintf("1 to %d characters", f.most)})
		}
	}
	return errors.Join(faults...)
}

// Resolve executes and records the decision about a disputed order: Accept with a NewID, Refund, or
// Drop. Decision.Order is the disputed id. After doubt it may be called again with the same
// decision. It refuses with ErrNoDispute, ErrDecided, ErrNotOnShelf, ErrConflict if the new id is
// taken, or a joined *FieldError for each field that is not allowed. It needs Options.Book. See
// also ErrStockUnknown.
func (s *Sale) Resolve(ctx context.Context, d Decision) error {
	if err := s.resolve(ctx, d); err != nil {
		return fmt.Errorf("stock: resolve the dispute about %s: %w", quote(d.Order), err)
	}
	return nil
}

func (s *Sale) resolve(ctx context.Context, d Decision) error {
	if s.options.Book == nil {
		return errNoBook
	}
	faults := []error{checkID(d.Order), d.faults()}
	switch d.Action {
	case Accept:
		faults = append(faults, checkID(d.NewID))
	case Refund, Drop:
		d.NewID = ""
	default:
		faults = append(faults, &FieldError{"action", quote(string(d.Action)), "accept, refund or drop"})
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	dispute, err := s.Dispute(ctx, d.Order)
	if err != nil {
		return err
	}
	if d.Action == Accept {
		if o, err := s.options.Book.order(ctx, s.ID(), d.NewID); err != nil {
			return err
		} else if o.State != "" && o.Placed.UnixMilli() != dispute.Placed.UnixMilli() {
			return fmt.Errorf("the new id %s: %w", quote(d.NewID), ErrConflict)
		}
	}
	placed := strconv.FormatInt(dispute.Placed.UnixMilli(), 10)
	keys := append(s.orderKeys([]string{d.Order, d.NewID}), s.keys(keyDisputed, keyStock, keyReserved, keySold, keyFresh, keyDue, keyUnsettled, keyBought)...)
	answer, _, err := s.change(ctx, decideScript, keys, d.Order, placed, string(d.Action), d.NewID)
	switch {
	case err != nil:
		return err
	case is(answer, "decided", 2):
		return fmt.Errorf("%s: %w", quote(answer[1]), ErrDecided)
	case is(answer, "taken", 1):
		return fmt.Errorf("the new id %s: %w", quote(d.NewID), ErrConflict)
	case is(answer, "busy", 1):
		return fmt.Errorf("it has just changed: %w", ErrUnsettled)
	case is(answer, "gone", 1) && d.Action == Accept:
		return ErrNotOnShelf
	}
	d.storeHas, d.bookHas = dispute.line, dispute.BookHas
	if err := s.options.Book.decided(ctx, s.ID(), d, dispute.Placed.UnixMilli()); err != nil {
		return fmt.Errorf("the decision is executed but not recorded yet, repeat it: %w", err)
	}
	_, err = s.ask(ctx, decidedScript, s.keys(keyDisputed), d.Order)
	return err
}

// disputedShifts returns, by product, the counts of disputed orders on the shelf, which the book
// does not count.
func (s *Sale) disputedShifts(ctx context.Context, b *Database) (map[string]shift, error) {
	on, err := s.disputedOn(ctx, b)
	if err != nil {
		return nil, err
	}
	p := planned{shifts: map[string]shift{}}
	for _, r := range on {
		p.shift(r.Items, r.State, 1)
	}
	return p.shifts, nil
}

// disputedOn returns the disputed orders on the shelf, with their current records.
func (s *Sale) disputedOn(ctx context.Context, b *Database) ([]Record, error) {
	all, err := b.disputes(ctx, s.ID(), "")
	if err != nil {
		return nil, err
	}
	var on []Record
	for some := range slices.Chunk(all, maxBatch) {
		names := make([]string, len(some))
		for i := range some {
			names[i] = some[i].ID
		}
		lines, err := s.lines(ctx, names)
		if err != nil {
			return nil, fmt.Errorf("stock: read disputed orders: %w", err)
		}
		for i, line := range lines {
			text, _ := line.(string)
			if r, err := parseRecord(names[i], text); err == nil && r.Placed.Equal(some[i].Placed) {
				on = append(on, r)
			}
		}
	}
	return on, nil
}

// restoreDisputes puts disputed orders onto the shelf as far as there is stock, paid ones first.
// The others stay in the book alone.
func (s *Sale) restoreDisputes(ctx context.Context, r *Restored) error {
	all, err := s.Disputes(ctx)
	if err != nil {
		return err
	}
	if err := s.forgetDisputes(ctx, r.Epoch, all); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(d Dispute) bool { return !d.State.holds() })
	unpaid := func(d Dispute) bool { return d.State != Paid }
	paid := slices.DeleteFunc(slices.Clone(all), unpaid)
	all = append(paid, slices.DeleteFunc(all, func(d Dispute) bool { return !unpaid(d) })...)
	r.Disputed = len(all)
	seen := map[string]bool{} // the store holds one record per id
	all = slices.DeleteFunc(all, func(d Dispute) bool {
		again := seen[d.ID]
		seen[d.ID] = true
		return again
	})
	for some := range slices.Chunk(all, maxBatch) {
		names := make([]string, len(some))
		args := []any{r.Epoch}
		for i, d := range some {
			names[i] = d.ID
			args = append(args, d.ID, d.line, d.BookHas)
		}
		if err := s.step(ctx, redisputeScript, s.orderKeys(names, keyShelf, keyDisputed, keyStock, keyReserved, keySold, keyDue, keyBought), args...); err != nil {
			return fmt.Errorf("put disputed orders: %w", err)
		}
	}
	return nil
}

// forgetDisputes removes the store's list of disputed orders, except decisions that the book does
// not have yet. The store may be older than the book: it may list disputes that are over, or orders
// for which there is no stock now.
func (s *Sale) forgetDisputes(ctx context.Context, epoch string, all []Dispute) error {
	has, err := again(ctx, func() (map[string]string, error) { return s.client.HGetAll(ctx, s.key(keyDisputed)).Result() })
	if err != nil {
		return fmt.Errorf("read disputed orders: %w", err)
	}
	for _, d := range all {
		if strings.HasPrefix(has[d.ID], "decided ") {
			delete(has, d.ID)
		}
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(has)), maxBatch) {
		if err := s.step(ctx, undisputeScript, s.keys(keyShelf, keyDisputed), argsOf(some, epoch)...); err != nil {
			return fmt.Errorf("remove disputed orders: %w", err)
		}
	}
	return nil
}
