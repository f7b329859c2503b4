package stock

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"
)

// counts are the counts of a sale at one moment.
type counts struct {
	unsettled int64 // orders whose state the database lacks
	restocked int64 // products whose total the database lacks
	marks     int64 // number of orders that were ever marked as settled
	products  map[string]tally
}

// A tally is the counts of one product.
type tally struct {
	Product
	known  bool  // the product was put in
	unread error // a count cannot be read: all are zero
}

// counts reads all counts of the sale.
func (s *Sale) counts(ctx context.Context) (counts, error) {
	keys := s.keys(keyPut, keyStock, keyReserved, keySold, keyUnsettled, keyFresh, keyRestocked, keyMarks)
	answer, err := s.runScript(ctx, countsScript, keys)
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
	const head, each = 3, 5
	if len(answer) < head || (len(answer)-head)%each != 0 {
		return counts{}, unknownAnswer(answer)
	}
	c := counts{products: make(map[string]tally, len(answer)/each)}
	if err := parseNumbers(answer[:head], &c.unsettled, &c.restocked, &c.marks); err != nil {
		return counts{}, err
	}
	for at := head; at < len(answer); at += each {
		t := tally{Product: Product{SKU: answer[at]}, known: answer[at+1] != ""}
		if err := parseNumbers(answer[at+1:at+each], &t.Put, &t.Stock, &t.Reserved, &t.Sold); err != nil {
			t = tally{Product: Product{SKU: t.SKU}, known: t.known, unread: err}
		}
		c.products[t.SKU] = t
	}
	return c, nil
}

// parseNumbers parses one number for each variable; an empty text is 0.
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

// products reads the database's products with their counts.
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

// maxFigures bounds the products in Figures.Stock.
const maxFigures = 200

// Figures are the metrics of a sale.
type Figures struct {
	Unsettled int64            // orders whose state the book does not have yet
	Lag       time.Duration    // for how long the book has lacked the oldest of these orders
	Totals    int64            // products whose total or price waits for settleOrders
	Products  int64            // number of products
	Closed    int64            // of these, the number that are not sold because their counts do not balance
	Stock     map[string]int64 // quantity that can be ordered, by product; nil while stock is unknown: see Sale.Known
}

// Figures reads the metrics of a sale in one step, whose cost does not grow with the sale. It does
// not query the book. Stock is empty if there are more than 200 products. A scrape may call it: it
// returns when ctx ends.
func (s *Sale) Figures(ctx context.Context) (Figures, error) {
	answer, err := s.runScript(ctx, figuresScript, s.keys(keyStock, keyFresh, keyUnsettled, keyRestocked, keyHalted), maxFigures)
	var f Figures
	if err == nil {
		f, err = s.parseFigures(ctx, answer)
	}
	if err != nil {
		return Figures{}, fmt.Errorf("stock: figures: %w", err)
	}
	return f, nil
}

func (s *Sale) parseFigures(ctx context.Context, answer []string) (f Figures, err error) {
	const head = 7
	if len(answer) < head || (len(answer)-head)%2 != 0 {
		return f, unknownAnswer(answer)
	}
	var now, oldest int64
	if err := parseNumbers(answer[:head-1], &f.Unsettled, &f.Totals, &f.Products, &f.Closed, &now, &oldest); err != nil {
		return f, err
	}
	if first := answer[head-1]; first != "" {
		var got batch
		if err := s.readRecords(ctx, []string{first}, &got); err != nil {
			return f, err
		}
		for _, r := range got.records { // none: the order has changed since
			if placed := r.Placed.UnixMilli(); oldest == 0 || placed < oldest {
				oldest = placed
			}
		}
	}
	if oldest != 0 {
		f.Lag = max(0, time.Duration(now-oldest)*time.Millisecond)
	}
	if s.Known() != nil {
		return f, nil
	}
	f.Stock = map[string]int64{}
	for i := head; i < len(answer); i += 2 {
		var left int64
		if err := parseNumbers(answer[i+1:i+2], &left); err != nil {
			continue // reconcile reports it
		}
		f.Stock[answer[i]] = left
	}
	return f, nil
}
