package stock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"

	"github.com/cronce/cronce/jobs/stock"
)

// sellerSKU is the product that no buyer orders: its seller changes it.
const sellerSKU = "pot"

// A held is what a seller was answered last about its product.
type held struct {
	known    bool // it was put in, and is in the book
	put      int64
	price    int64
	currency string
}

// sell lets a seller raise and lower what buyers order, and change a product of its own, until
// stop is closed. It sends each change until that is answered without doubt.
func (l *losing) sell(ctx context.Context, seed uint64, stop <-chan struct{}) {
	r := rand.New(rand.NewPCG(seed, 1))
	for {
		select {
		case <-stop:
			return
		default:
		}
		if r.IntN(2) == 0 {
			l.move(ctx, lossSKUs[r.IntN(len(lossSKUs))], r.Int64N(9)-4)
		} else {
			l.change(ctx, r)
		}
	}
}

// move changes a total by so many; below what is reserved and sold it is refused.
func (l *losing) move(ctx context.Context, sku string, by int64) {
	l.m.mu.Lock()
	total := l.m.totals[sku] + by
	l.m.mu.Unlock()
	switch status, answer := l.m.ask(ctx, http.MethodPut, "/products/"+sku+"/stock", map[string]any{"total": max(0, total)}); {
	case status == http.StatusOK:
		l.m.mu.Lock()
		l.m.totals[sku] = max(0, total)
		l.m.mu.Unlock()
		l.changes++
	case status == http.StatusConflict && answer["type"] == "urn:cronce:stock:too-low":
	default:
		l.t.Errorf("%s: put %d of %s: %d %v", l.where, total, sku, status, answer)
	}
}

// change changes the seller's own product.
func (l *losing) change(ctx context.Context, r *rand.Rand) {
	path, n := "/products/"+sellerSKU, 1+r.Int64N(50)
	want := l.held
	form := map[string]any{"price": n, "currency": "EUR"}
	if want.known = true; r.IntN(2) == 0 {
		want.price, want.currency = n, "EUR"
	} else {
		path, form = path+"/stock", map[string]any{"total": n}
		want.put = n
	}
	if got, answer := l.m.ask(ctx, http.MethodPut, path, form); got != http.StatusOK {
		l.t.Errorf("%s: PUT %s %v: %d %v; it was %+v", l.where, path, form, got, answer, l.held)
		return
	}
	l.held = want
	l.changes++
}

// sellerDiffers returns how the seller's product differs from what its seller was answered.
func (l *losing) sellerDiffers(s *stock.Sale) string {
	if !l.held.known {
		return ""
	}
	p, err := s.Product(l.t.Context(), sellerSKU)
	if err != nil || p.Put != l.held.put || p.Price != l.held.price || p.Currency != l.held.currency {
		return fmt.Sprintf("the store has %+v, %v, and the seller was answered %+v", p, err, l.held)
	}
	row := fmt.Sprint(l.held.put, " ", l.held.price, " ", l.held.currency)
	if has := l.book.lines(l.t, offerRow+"'"+sellerSKU+"'"); len(has) != 1 || has[0] != row {
		return fmt.Sprintf("the book has %q of %s, and its seller was answered %q", has, sellerSKU, row)
	}
	return ""
}
