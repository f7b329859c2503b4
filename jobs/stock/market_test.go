package stock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/stock"
)

// A market is some members, the buyers that send them requests, and the replies to
// the buyers.
type market struct {
	t      *testing.T
	setup  setup
	client *http.Client

	mu       sync.Mutex
	members  []*process
	all      []*process
	settling *process               // that has begun the latest run of settleOrders
	redis    []string               // where each member finds the store
	accepted map[string]stock.Order // by id
	ended    map[string]stock.State // the reply to its buyer, by id; absent: no buyer asked
	tried    map[string]stock.State // what an order was to become when the store had lost it, or what it was before
	totals   map[string]int64       // what was put in, by product
	refused  int                    // sold out
	limited  int                    // the buyer had as many as may be
}

func newMarket(t *testing.T, c setup, members int) *market {
	return newMarketAt(t, c, slices.Repeat([]string{c.Redis}, members))
}

// newMarketAt starts a member for each place where one finds the store.
func newMarketAt(t *testing.T, c setup, redis []string) *market {
	m := &market{t: t, setup: c, accepted: map[string]stock.Order{}, ended: map[string]stock.State{}, tried: map[string]stock.State{}, totals: map[string]int64{},
		client: &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	t.Cleanup(m.client.CloseIdleConnections)
	m.redis, m.members = redis, make([]*process, len(redis))
	for i := range redis {
		m.start(i)
	}
	return m
}

// start starts the member of a place.
func (m *market) start(i int) {
	c := m.setup
	c.Name = fmt.Sprintf("member-%d", i)
	c.Redis = m.redis[i]
	p := launch(m.t, c, m.receive)
	m.mu.Lock()
	m.members[i], m.all = p, append(m.all, p)
	m.mu.Unlock()
}

func (m *market) receive(p *process, line map[string]any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if line["msg"] == "run started" && line["job"] == "settleOrders" {
		m.settling = p
	}
}

// any is some member.
func (m *market) any() *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.members[rand.IntN(len(m.members))]
}

// ask sends a request to any member, and again to any, until one answers without
// doubt, as a client should. It returns status 0 when ctx ends first.
func (m *market) ask(ctx context.Context, method, path string, form any) (int, map[string]any) {
	body, _ := json.Marshal(form)
	for ctx.Err() == nil {
		p := m.any()
		if base := p.url(); base != "" {
			if status, answer := m.once(ctx, method, base+path, body); status != 0 && status != http.StatusServiceUnavailable {
				return status, answer
			}
		}
		<-time.After(time.Duration(rand.IntN(20)) * time.Millisecond)
	}
	return 0, nil
}

func (m *market) once(ctx context.Context, method, url string, body []byte) (int, map[string]any) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := m.client.Do(r)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	var fields map[string]any
	if err != nil || answer.StatusCode != http.StatusNoContent && json.Unmarshal(text, &fields) != nil {
		return 0, nil
	}
	return answer.StatusCode, fields
}

// put puts in a product, in all.
func (m *market) put(ctx context.Context, sku string, total int64) {
	if status, answer := m.ask(ctx, http.MethodPut, "/products/"+sku, map[string]any{"price": priceOf.Price, "currency": priceOf.Currency, "buyer_limit": marketLimit}); status != http.StatusOK {
		m.t.Errorf("price of %s: %d %v", sku, status, answer)
	}
	status, answer := m.ask(ctx, http.MethodPut, "/products/"+sku+"/stock", map[string]any{"total": total})
	if status != http.StatusOK {
		m.t.Errorf("put %s: %d %v", sku, status, answer)
		return
	}
	m.mu.Lock()
	m.totals[sku] = total
	m.mu.Unlock()
}

// buy buys until stop is closed: each order is asked for until it is known whether
// it was accepted, and then paid, cancelled, or left.
func (m *market) buy(ctx context.Context, name string, skus []string, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
			m.buyOne(ctx, fmt.Sprintf("%s-%d", name, n), skus)
		}
	}
}

func (m *market) buyOne(ctx context.Context, id string, skus []string) {
	o := m.pick(id, skus)
	items := make([]map[string]any, len(o.Items))
	for i, item := range o.Items {
		items[i] = map[string]any{"sku": item.SKU, "quantity": item.Quantity}
	}
	form := map[string]any{"id": id, "receiver": o.Receiver, "buyer": o.Buyer, "items": items}
	switch status, answer := m.ask(ctx, http.MethodPost, "/orders", form); {
	case status == http.StatusCreated || status == http.StatusOK:
		m.mu.Lock()
		m.accepted[id] = o
		m.mu.Unlock()
		m.end(ctx, id)
	case status == http.StatusConflict && answer["state"] == string(stock.Expired): // while its answers were lost
		m.mu.Lock()
		m.accepted[id], m.ended[id] = o, stock.Expired
		m.mu.Unlock()
	case status == http.StatusConflict && answer["type"] == "urn:cronce:stock:sold-out":
		m.mu.Lock()
		m.refused++
		m.mu.Unlock()
	case status == http.StatusConflict && answer["type"] == "urn:cronce:stock:buyer-limit":
		m.mu.Lock()
		m.limited++
		m.mu.Unlock()
	default:
		m.t.Errorf("order %s: %d %v", id, status, answer)
	}
}

// marketLimit is how many of each product one buyer of a market may have.
const marketLimit = 12

// buyerOf is the buyer of an order, name-n: for some orders in a row, and shared by several
// names.
func buyerOf(id string) string {
	at := strings.LastIndex(id, "-")
	n, _ := strconv.Atoi(id[at+1:])
	return fmt.Sprintf("u-%s%d-%d", id[:at-1], id[at-1]%4, n/10)
}

// pick is an order of one or two products.
func (m *market) pick(id string, skus []string) stock.Order {
	first := rand.IntN(len(skus))
	items := []stock.Item{{SKU: skus[first], Quantity: 1 + rand.Int64N(3)}}
	if rand.IntN(3) == 0 {
		items = append(items, stock.Item{SKU: skus[(first+1)%len(skus)], Quantity: 1})
	}
	o := order(id, items...)
	o.Buyer = buyerOf(id)
	return o
}

// end pays half of the orders, of which some come back, cancels some, and leaves the
// others to their time.
func (m *market) end(ctx context.Context, id string) {
	m.mu.Lock()
	payment := map[string]any{"reference": "pay-" + id, "amount": amount(m.accepted[id]), "currency": priceOf.Currency}
	m.mu.Unlock()
	switch rand.IntN(12) {
	case 0, 1:
		m.step(ctx, http.MethodDelete, id, "", nil, stock.Cancelled)
	case 2, 3, 4, 5:
	case 7:
		if m.step(ctx, http.MethodPost, id, "/pay", payment, stock.Paid) {
			m.step(ctx, http.MethodPost, id, "/refund", map[string]any{"reference": "refund-" + id, "payment": "pay-" + id}, stock.Refunded)
		}
	case 8:
		if m.step(ctx, http.MethodPost, id, "/pay", payment, stock.Paid) && m.step(ctx, http.MethodPost, id, "/return", map[string]any{"reference": "return-" + id}, stock.Returned) && rand.IntN(2) == 0 {
			m.step(ctx, http.MethodPost, id, "/refund", map[string]any{"reference": "refund-" + id, "payment": "pay-" + id}, stock.Refunded)
		}
	default:
		m.step(ctx, http.MethodPost, id, "/pay", payment, stock.Paid)
	}
}

func amount(o stock.Order) (sum int64) {
	for _, item := range o.Items {
		sum += item.Quantity * priceOf.Price
	}
	return sum
}

// lostPayment reports whether a refund was refused since the order does not have the payment: of an order that the
// book had as reserved, the store has lost what was paid. The judge of a round counts such an order as missing.
func lostPayment(answer map[string]any) bool {
	fields, _ := answer["fields"].([]any)
	if len(fields) != 1 {
		return false
	}
	fault, _ := fields[0].(map[string]any)
	return fault["field"] == "payment" && fault["value"] == "not known"
}

// step changes an order, and reports whether it has become what it should, and not
// expired before.
func (m *market) step(ctx context.Context, method, id, path string, form any, want stock.State) bool {
	status, answer := m.ask(ctx, method, "/orders/"+id+path, form)
	state := stock.State(fmt.Sprint(answer["state"]))
	done := status == http.StatusOK && state == want
	switch {
	case done:
	case status == http.StatusConflict && state == stock.Expired:
	case m.setup.Restore && !m.setup.Settled && (status == http.StatusNotFound || status == http.StatusConflict || lostPayment(answer)):
		m.mu.Lock()
		m.tried[id] = want
		m.mu.Unlock()
		return false // it, or what it was before, was lost
	default:
		m.t.Errorf("%s of order %s: %d %v", want, id, status, answer)
	}
	m.mu.Lock()
	m.ended[id] = state
	m.mu.Unlock()
	return done
}
