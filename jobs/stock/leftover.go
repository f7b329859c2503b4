package stock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// A leftover is the store's part of a shelf that is to be rebuilt: accepted changes that are not
// settled yet.
type leftover struct {
	totals   map[string]total // changed since the last settlement
	supplies []supply         // deliveries since the last settlement
	open     map[string]bool  // by order id: the record is to be removed
	lost     []Loss           // totals that cannot be read
	batch    batch            // unsettled orders
}

// leftover reads the unsettled changes of the store. The shelf is closed, so nothing changes
// meanwhile.
func (s *Sale) leftover(ctx context.Context) (left leftover, err error) {
	left.totals, left.open = map[string]total{}, map[string]bool{}
	totals, err := again(ctx, func() (map[string]string, error) { return s.client.HGetAll(ctx, s.key(keyRestocked)).Result() })
	if err != nil {
		return left, fmt.Errorf("what was put in: %w", err)
	}
	for sku, text := range totals {
		if t, err := parseTotal(sku, text); err == nil {
			left.totals[sku] = t
		} else {
			left.lost = append(left.lost, Loss{SKU: sku, Reason: "its total cannot be read: put it again"})
		}
	}
	if left.supplies, err = s.unsettledSupplies(ctx); err != nil {
		return left, fmt.Errorf("what was added: %w", err)
	}
	disputed, err := again(ctx, func() ([]string, error) { return s.client.HKeys(ctx, s.key(keyDisputed)).Result() })
	if err != nil {
		return left, fmt.Errorf("disputes: %w", err)
	}
	for _, id := range disputed {
		left.open[id] = true
	}
	for _, name := range []string{keyUnsettled, keyFresh, keyDue} {
		if err := s.leftoverOf(ctx, name, &left); err != nil {
			return left, fmt.Errorf("orders: %w", err)
		}
	}
	return left, nil
}

// leftoverOf reads the orders of one set. Orders of the due set are settled, so their records are
// not read.
func (s *Sale) leftoverOf(ctx context.Context, name string, left *leftover) error {
	for from := int64(0); ; from += maxBatch {
		ids, err := s.idsOf(ctx, name, from)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			left.open[id] = true
		}
		if name != keyDue {
			var got batch
			if err := s.readRecords(ctx, ids, &got); err != nil {
				return err
			}
			left.batch.records = append(left.batch.records, got.records...)
			left.batch.lost = append(left.batch.lost, got.lost...)
			left.batch.unread = append(left.batch.unread, got.unread...)
		}
	}
}

// A fit selects the unsettled orders that go into the book.
type fit struct {
	room     map[string]int64 // by product: quantity that the book has neither reserved nor sold
	take     []Record         // orders that go into the book
	lost     []Loss           // orders that do not, with the reason
	disputes []disputed       // of the lost orders, the paid ones
}

// fits divides the unsettled orders into those that the book takes and those that are lost, with
// the reason. An order that the book has in a last state stays as it is. Orders that the book has
// come first, because an ended one makes room; then paid ones; then the oldest. A paid order that
// is not taken becomes a dispute.
func (left *leftover) fits(products map[string]Product, found map[string]row) (f fit, totals []total) {
	f.room = map[string]int64{}
	for sku, p := range products {
		f.room[sku] = p.Put - p.Reserved - p.Sold
	}
	totals = f.fitTotals(left.totals, products)
	slices.SortStableFunc(left.batch.records, func(a, b Record) int {
		if (a.State == Paid) != (b.State == Paid) {
			if a.State == Paid {
				return -1
			}
			return 1
		}
		return a.Placed.Compare(b.Placed)
	})
	for _, r := range left.batch.records {
		if have, known := found[r.ID]; known {
			f.fitKnown(r, have)
		}
	}
	for _, r := range left.batch.records {
		if _, known := found[r.ID]; !known {
			f.fitNew(r)
		}
	}
	for _, id := range left.batch.lost {
		if _, known := found[id]; !known {
			f.lost = append(f.lost, Loss{ID: id, Reason: "neither the store nor the book has it"})
		}
	}
	for _, u := range left.batch.unread {
		reason := "its record cannot be read, and the book does not know it"
		if have, known := found[u.id]; known {
			reason = "its record cannot be read: the book has it " + string(have.status) + ", which holds"
		}
		f.lost = append(f.lost, Loss{ID: u.id, Reason: reason})
	}
	return f, totals
}

// fitTotals returns the totals of products that the book lacks. Of the other products the book has
// the acknowledged total, and the store's may be older. That holds also for a product without a
// price in the book, which was deleted and put in again.
func (f *fit) fitTotals(all map[string]total, products map[string]Product) (totals []total) {
	for _, sku := range slices.Sorted(maps.Keys(all)) {
		t := all[sku]
		if p, known := products[sku]; known {
			f.lost = append(f.lost, t.against(p)...)
			continue
		}
		f.room[sku] = t.put
		totals = append(totals, t)
	}
	return totals
}

// fitKnown handles an order that the book has.
func (f *fit) fitKnown(r Record, have row) {
	switch {
	case have.knows(r) || have.later(r): // the book has the same state, or a later one
	case have.before(r):
		f.take = append(f.take, r)
		if have.status.holds() && !r.State.holds() {
			for _, item := range r.Items {
				f.room[item.SKU] += item.Quantity
			}
		}
	default:
		f.lose(r, "the book has it "+string(have.status)+", which holds", string(have.status)+" "+strconv.FormatInt(have.placed, 10))
	}
}

// fitNew handles an order that the book lacks.
func (f *fit) fitNew(r Record) {
	if r.State.holds() && !f.hold(r.Items) {
		f.lose(r, "there is not enough left for it", "")
		return
	}
	f.take = append(f.take, r)
}

func (f *fit) lose(r Record, reason, instead string) {
	f.lost = append(f.lost, Loss{ID: r.ID, State: r.State, Reason: reason})
	if r.State == Paid {
		f.disputes = append(f.disputes, disputed{r, instead})
	}
}

// hold takes all items out of the room, or none.
func (f *fit) hold(items []Item) bool {
	for _, item := range items {
		if f.room[item.SKU] < item.Quantity {
			return false
		}
	}
	for _, item := range items {
		f.room[item.SKU] -= item.Quantity
	}
	return true
}

// against returns the parts of a total that a rebuild does not take over, because the book has the
// product. The store, and its total, may be older than the book.
func (t total) against(p Product) (lost []Loss) {
	has, holds := t.offer.line(), p.line()
	if t.put != p.Put && has != deleted && holds != deleted {
		lost = append(lost, Loss{SKU: t.sku, Reason: fmt.Sprintf("the store has %d put in, the book %d, which holds: put the right total again", t.put, p.Put)})
	}
	if has != holds {
		lost = append(lost, Loss{SKU: t.sku, Reason: fmt.Sprintf("the store has it %s, the book %s, which holds: set the price, or delete it, again", shown(has), shown(holds))})
	}
	return lost
}

// shown formats the line of an offer for people.
func shown(line string) string {
	switch line {
	case "":
		return "without a price"
	case deleted:
		return "deleted"
	}
	return "at " + line
}
