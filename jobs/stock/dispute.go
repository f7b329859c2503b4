package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// What a decision is refused with. Nothing was changed then.
var (
	ErrNoDispute  = errors.New("the order is not disputed")
	ErrDecided    = errors.New("something else was decided about the order before")
	ErrNotOnShelf = errors.New("the store does not have the disputed order any more: refund or drop it, and let it be placed again")
)

// A Dispute is an order that the store has accepted, under an id under which the book
// has another one in a last state: the id was used again after it was forgotten
// (Options.Retention), or the store had lost the order. The book keeps what it has, and a copy of
// the disputed order, until an operator decides.
type Dispute struct {
	Record
	BookHas string    // state and placed of what the book has instead; empty: nothing, a rebuild found no room for the order
	Found   time.Time // when it was found first

	line string // the record as the store has it
}

// Disputes returns the disputed orders that nothing was decided about, the first 10,000,
// the oldest first: those of the book, also where a rebuilt shelf has no stock for them. It needs Options.Book.
func (s *Sale) Disputes(ctx context.Context) ([]Dispute, error) {
	if s.options.Book == nil {
		return nil, fmt.Errorf("stock: disputes: %w", errNoBook)
	}
	return s.options.Book.disputes(ctx, s.ID(), "")
}

// CountDisputes counts the disputed orders that nothing was decided about. It makes no tables, so that it
// is for a scrape: it returns when ctx ends. It needs Options.Book.
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

// Dispute returns the disputed order with an id, the oldest of them, or ErrNoDispute. It
// needs Options.Book.
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

// disputes reads the disputes of a sale, or those of one id.
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

// An Action is what an operator did.
type Action string

// What can be decided about a disputed order, and what else operators do that is
// recorded.
const (
	Accept Action = "accept" // it goes on under another id
	Refund Action = "refund" // its items are back in stock, and the buyer's money goes back
	Drop   Action = "drop"   // its items are back in stock, and that is all
	Free   Action = "free"   // a reservation was ended before its time
	// DropEvent: an event that its target had refused was given up.
	DropEvent Action = "drop event"
	// SkipEvent: the next event of a target was put aside.
	SkipEvent Action = "skip event"
	Repair    Action = "repair" // the shelf, or the counts of the book, were made again
)

// A Decision is what an operator did, as it is recorded in the table stock_decision.
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

// Resolve carries out what was decided about a disputed order, and records it: Accept, with
// a NewID, Refund, or Drop. The decision's Order is the disputed id. It may be called
// again after doubt, with the same decision. It is refused with ErrNoDispute,
// ErrDecided, ErrNotOnShelf, ErrConflict when the new id is taken, or a *FieldError for
// each field that is not allowed, joined. It needs Options.Book. See also ErrStockUnknown.
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
		return fmt.Errorf("it is carried out, and not recorded yet, do it again: %w", err)
	}
	_, err = s.ask(ctx, decidedScript, s.keys(keyDisputed), d.Order)
	return err
}

// disputedShifts is what disputed orders have on the shelf, by product, beside what the
// book has.
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

// disputedOn are the disputed orders that are on the shelf, as they are there.
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
