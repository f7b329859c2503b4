package stock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/jobs/stock/internal/format"
	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// maxSupplies bounds the deliveries that wait for their settlement.
const maxSupplies = 1000

// Supply adds a delivery to the total of a product, once per product and reference: two sellers
// that add ten each add twenty, and a repeated call adds nothing. The book keeps the references
// forever, and the store for Options.Retention. With Options.Book the database must answer. It
// refuses with a *FieldError, also beyond 10^12, with ErrUnknownSKU, with reference-taken if the
// reference was used with another quantity, or with too-many-deliveries. It may be called again.
func (s *Sale) Supply(ctx context.Context, sku, reference string, quantity int64) (Product, error) {
	one := supply{sku, reference, quantity}
	err := one.validate()
	var p Product
	if err == nil {
		p, err = s.supply(ctx, one)
	}
	if err != nil {
		return Product{}, fmt.Errorf("stock: supply %s: %w", format.Quote(sku), err)
	}
	return p, nil
}

// A supply is a delivery: a quantity that was added to a product.
type supply struct {
	sku, reference string
	quantity       int64
}

func (a supply) validate() error {
	var faults []error
	if err := checkSKU("sku", a.sku); err != nil {
		faults = append(faults, err)
	}
	if err := checkReference("reference", a.reference); err != nil {
		faults = append(faults, err)
	}
	if a.quantity < 1 || a.quantity > maxTotal {
		faults = append(faults, &FieldError{"quantity", strconv.FormatInt(a.quantity, 10), fmt.Sprintf("1 to %d", int64(maxTotal))})
	}
	return errors.Join(faults...)
}

func (a supply) field() string { return a.sku + " " + a.reference }

func (s *Sale) supplyKeys(supplies []supply) []string {
	keys := make([]string, len(supplies))
	for i, a := range supplies {
		keys[i] = s.key(keySupply + a.sku + ":" + a.reference)
	}
	return keys
}

func (s *Sale) supply(ctx context.Context, a supply) (Product, error) {
	if b := s.options.Book; b != nil {
		known, err := b.supplies(ctx, s.ID(), []supply{a})
		if err != nil {
			return Product{}, fmt.Errorf("read the book: %w", err)
		}
		if quantity, ok := known[a.field()]; ok && quantity != a.quantity {
			return Product{}, errReference
		} else if ok {
			return s.Product(ctx, a.sku)
		}
	}
	keys := append(s.keys(keyPut, keyStock, keyReserved, keySold, keyRestocked, keyOffer), s.supplyKeys([]supply{a})...)
	answer, at, err := s.change(ctx, supplyScript, append(keys, s.key(keySupplied)), a.sku, a.reference, a.quantity, maxTotal, maxSupplies)
	switch {
	case err != nil:
		return Product{}, err
	case is(answer, "ok", 6):
		if err := s.awaitProduct(ctx, at, a.sku); err != nil {
			return Product{}, err
		}
		return parseProduct(a.sku, answer[1:])
	case is(answer, "unknown", 1):
		return Product{}, ErrUnknownSKU
	case is(answer, "used", 2):
		return Product{}, errReference
	case is(answer, "many", 1):
		return Product{}, errSupplies
	case is(answer, "over", 2):
		return Product{}, &FieldError{"quantity", strconv.FormatInt(a.quantity, 10), fmt.Sprintf("up to %d in all, of which %s are there", int64(maxTotal), answer[1])}
	}
	return Product{}, unknownAnswer(answer)
}

func parseSupply(field, quantity string) (a supply, err error) {
	a.sku, a.reference, _ = strings.Cut(field, " ")
	if a.quantity, err = strconv.ParseInt(quantity, 10, 64); err == nil {
		err = a.validate()
	}
	if err != nil {
		return supply{}, fmt.Errorf("what was added, %s: %w", format.Quote(field), err)
	}
	return a, nil
}

// supplied marks deliveries as being in the database.
func (s *Sale) supplied(ctx context.Context, fence int64, supplies []supply) error {
	if len(supplies) == 0 {
		return nil
	}
	args := []any{s.options.Retention.Milliseconds()}
	for _, a := range supplies {
		args = append(args, a.field())
	}
	keys := append(s.keys(keyFence+settling, keySupplied), s.supplyKeys(supplies)...)
	if _, err := s.fenced(ctx, suppliedScript, keys, fence, args...); err != nil {
		return fmt.Errorf("stock: mark what was added: %w", err)
	}
	return nil
}

// writeSupplies writes deliveries, in the transaction that raises the totals.
func (tx *transaction) writeSupplies(ctx context.Context, supplies []supply) error {
	t := sqltext.Table{Name: "stock_supply", Clock: "settled_at", Columns: []sqltext.Column{{Name: "sku"}, {Name: "reference"}, {Name: "quantity"}}}
	for _, a := range supplies {
		t.Add(a.sku, a.reference, a.quantity)
	}
	return tx.write(ctx, &t, sqltext.Upsert(tx.dialect, "stock_supply", "sale, sku, reference", []string{"quantity"}, nil))
}

// supplies returns the quantities of those deliveries that the book has, by field.
func (b *Database) supplies(ctx context.Context, sale string, wanted []supply) (map[string]int64, error) {
	if err := b.Migrate(ctx); err != nil {
		return nil, err
	}
	found := map[string]int64{}
	for some := range slices.Chunk(wanted, sqltext.MaxRows) {
		query, args := "SELECT sku, reference, quantity FROM stock_supply WHERE sale = ? AND (", []any{sale}
		for i, a := range some {
			if i > 0 {
				query += " OR "
			}
			query, args = query+"sku = ? AND reference = ?", append(args, a.sku, a.reference)
		}
		if err := b.eachSupply(ctx, query+")", args, func(a supply) { found[a.field()] = a.quantity }); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (b *Database) eachSupply(ctx context.Context, query string, args []any, f func(supply)) error {
	return eachRow(ctx, b.db, b.dialect, query, args, func(row *sql.Rows) error {
		var a supply
		err := row.Scan(&a.sku, &a.reference, &a.quantity)
		if err == nil {
			f(a)
		}
		return err
	})
}

// unsettledSupplies reads the deliveries that wait in the store for their settlement.
func (s *Sale) unsettledSupplies(ctx context.Context) ([]supply, error) {
	all, err := again(ctx, func() (map[string]string, error) { return s.client.HGetAll(ctx, s.key(keySupplied)).Result() })
	if err != nil {
		return nil, err
	}
	var supplies []supply
	for field, quantity := range all {
		if a, err := parseSupply(field, quantity); err == nil {
			supplies = append(supplies, a)
		}
	}
	slices.SortFunc(supplies, func(a, b supply) int { return cmp.Compare(a.field(), b.field()) })
	return supplies, nil
}

// restoreSupplies writes the references of deliveries that the shelf would still keep.
func (s *Sale) restoreSupplies(ctx context.Context, epoch string) error {
	b := s.options.Book
	query := "SELECT sku, reference, quantity FROM stock_supply WHERE sale = ? AND settled_at > " + b.dialect.Now() + " - ?"
	var all []supply
	err := b.eachSupply(ctx, query, []any{s.ID(), s.options.Retention.Milliseconds()}, func(a supply) { all = append(all, a) })
	if err != nil {
		return fmt.Errorf("read what was added: %w", err)
	}
	for some := range slices.Chunk(all, maxBatch) {
		args := []any{epoch, s.options.Retention.Milliseconds()}
		for _, a := range some {
			args = append(args, a.quantity)
		}
		if err := s.step(ctx, referencesScript, append(s.keys(keyShelf), s.supplyKeys(some)...), args...); err != nil {
			return fmt.Errorf("put references: %w", err)
		}
	}
	return nil
}
