package stock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs/stock"
)

// Whatever an order says that is allowed, its record says the same; and no record
// makes the reader panic.
func FuzzRecord(f *testing.F) {
	f.Add("o-1", "Ada Lovelace", "ada", int64(1250), "EUR", "tea", int64(2), "reserved 1 2 3 tea=1@5;EUR {}")
	f.Add("o", `Zoë "Z" {\N} </script> 🍵 {"buyer":"x"`, "", int64(0), "USD", "a.b_c-d", int64(1), "paid 1 2 3 tea=1@5,cup=2@7;EUR {\"receiver\":1}")
	f.Fuzz(func(t *testing.T, id, receiver, buyer string, amount int64, currency, sku string, quantity int64, line string) {
		_, _ = stock.ParseRecord(id, line)
		o := stock.Order{ID: id, Receiver: receiver, Buyer: buyer, Items: []stock.Item{{SKU: sku, Quantity: quantity}}}
		if o.Validate() != nil || amount < 0 || amount > stock.MaxAmount || len(currency) != 3 || strings.ContainsFunc(currency, func(r rune) bool { return r < 'A' || r > 'Z' }) {
			return
		}
		priced := stock.Record{Order: o, State: stock.Paid, Currency: currency}
		priced.Items = []stock.Item{{SKU: sku, Quantity: quantity, Price: amount / quantity}}
		priced.Amount = priced.Items[0].Amount()
		line, err := stock.Line(priced)
		if err != nil {
			t.Fatal(err)
		}
		got, err := stock.ParseRecord(id, line)
		if err != nil || fmt.Sprint(got.Receiver, got.Buyer, got.Amount, got.Currency, got.Items, got.ID) != fmt.Sprint(receiver, buyer, priced.Amount, currency, priced.Items, id) {
			t.Errorf("%q is read as %q %v, %v", line, got.Receiver, got.Items, err)
		}
		if strings.ContainsAny(line, "\r\n\x00") {
			t.Errorf("%q has more than one line", line)
		}
	})
}
