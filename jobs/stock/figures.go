package stock

import (
	"context"
	"fmt"
	"time"
)

// MaxFigures is how many products Figures has the stock of at most.
const MaxFigures = 200

// Figures are what is measured of a sale.
type Figures struct {
	Unsettled int64            // orders whose state the book does not have yet
	Lag       time.Duration    // for how long the book has lacked the oldest of these orders
	Totals    int64            // products whose total, price or deletion waits for settleOrders
	Products  int64            // how many there are
	Closed    int64            // of these, how many are not sold, since their books do not balance
	Stock     map[string]int64 // what can be ordered, by product; nil while that is not known: see Sale.Known
}

// Figures reads what is measured of a sale, in one step that is bounded however large the sale
// is, and does not ask the book. Stock has the products that are named, of which there may be
// MaxFigures; without names it has all, or none when there are more than MaxFigures. It is for
// a scrape: it returns when ctx ends.
func (s *Sale) Figures(ctx context.Context, skus ...string) (Figures, error) {
	if len(skus) > MaxFigures {
		return Figures{}, fmt.Errorf("stock: figures: %w", &FieldError{"skus", fmt.Sprintf("%d of them", len(skus)), fmt.Sprintf("up to %d", MaxFigures)})
	}
	answer, err := s.ask(ctx, figuresScript, s.keys(keyStock, keyFresh, keyUnsettled, keyRestocked, keyOffer, keyHalted), argsOf(skus, MaxFigures)...)
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
		return f, strange(answer)
	}
	var now, oldest int64
	if err := parseNumbers(answer[:head-1], &f.Unsettled, &f.Totals, &f.Products, &f.Closed, &now, &oldest); err != nil {
		return f, err
	}
	if first := answer[head-1]; first != "" {
		var h haul
		if err := s.readRecords(ctx, []string{first}, &h); err != nil {
			return f, err
		}
		for _, r := range h.records { // none: it has gone on since
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
		if answer[i+1] == "" {
			continue // there is no such product
		}
		if err := parseNumbers(answer[i+1:i+2], &left); err != nil {
			continue // reconcile reports it
		}
		f.Stock[answer[i]] = left
	}
	return f, nil
}
