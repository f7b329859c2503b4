package stock

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
)

// counts are those of a sale at one moment.
type counts struct {
	unsettled int64 // orders whose state the database does not have
	restocked int64 // products whose total it does not have
	disputed  int64 // orders that it has otherwise
	marks     int64 // how many orders were marked as settled, ever
	now       int64 // by the store's clock, in ms
	oldest    int64 // since when the oldest is unsettled, of those whose state has changed; 0: none
	products  map[string]tally
}

// A tally is what a sale counts of a product.
type tally struct {
	Product
	known    bool  // it was put in
	unread   error // a count cannot be read: all are zero
	settled  int64 // what paid orders took that the database has
	returned int64 // what they gave back, ever
	restored int64 // what they gave back that the database has
}

// counts reads all counts of the sale.
func (s *Sale) counts(ctx context.Context) (counts, error) {
	keys := s.keys(keyPut, keyStock, keyReserved, keySold, keySettled, keyReturned, keyRestored, keyUnsettled, keyFresh, keyRestocked, keyDisputed, keyMarks)
	answer, err := s.ask(ctx, countsScript, keys)
	var c counts
	if err == nil {
		c, err = parseCounts(answer)
	}
	if err != nil {
		return counts{}, fmt.Errorf("stock: read the counts: %w", err)
	}
	return c, nil
}

func parseCounts(answer []string) (counts, error) {
	const head, each = 6, 8
	if len(answer) < head || (len(answer)-head)%each != 0 {
		return counts{}, strange(answer)
	}
	c := counts{products: make(map[string]tally, len(answer)/each)}
	if err := parseNumbers(answer[:head], &c.unsettled, &c.restocked, &c.disputed, &c.marks, &c.now, &c.oldest); err != nil {
		return counts{}, err
	}
	for at := head; at < len(answer); at += each {
		t := tally{Product: Product{SKU: answer[at]}, known: answer[at+1] != ""}
		if err := parseNumbers(answer[at+1:at+each], &t.Put, &t.Stock, &t.Reserved, &t.Sold, &t.settled, &t.returned, &t.restored); err != nil {
			t = tally{Product: Product{SKU: t.SKU}, known: t.known, unread: err}
		}
		c.products[t.SKU] = t
	}
	return c, nil
}

// parseNumbers reads one number each; nothing is 0.
func parseNumbers(texts []string, into ...*int64) error {
	for i, text := range texts {
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		*into[i] = n
	}
	return nil
}

// products reads what the database counts of the products of a sale.
func (b *Database) products(ctx context.Context, sale string) (map[string]Product, error) {
	products := map[string]Product{}
	query := "SELECT sku, put_in, reserved, sold, price, currency, buyer_limit, starts_at, ends_at FROM product WHERE sale = ?"
	err := eachRow(ctx, b.db, b.dialect, query, []any{sale}, func(row *sql.Rows) error {
		var p Product
		var starts, ends int64
		err := row.Scan(&p.SKU, &p.Put, &p.Reserved, &p.Sold, &p.Price, &p.Currency, &p.BuyerLimit, &starts, &ends)
		p.Starts, p.Ends = instantOf(starts), instantOf(ends)
		products[p.SKU] = p
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stock: read the database's products: %w", err)
	}
	return products, nil
}
