package stock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/stock"
)

// A market is some members, the buyers that besiege them, and what the buyers were
// told.
type market struct {
	t      *testing.T
	setup  setup
	client *http.Client

	mu       sync.Mutex
	members  []*process
	all      []*process
	settling *process               // that has begun the latest run of settleOrders
	accepted map[string]stock.Order // by id
	ended    map[string]stock.State // what a buyer was told, by id; absent: nobody asked
	totals   map[string]int64       // what was put in, by product
	refused  int                    // sold out
}

func newMarket(t *testing.T, c setup, members int) *market {
	m := &market{t: t, setup: c, accepted: map[string]stock.Order{}, ended: map[string]stock.State{}, totals: map[string]int64{},
		client: &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	t.Cleanup(m.client.CloseIdleConnections)
	m.members = make([]*process, members)
	for i := range members {
		m.start(i)
	}
	return m
}

// start starts the member of a place.
func (m *market) start(i int) {
	c := m.setup
	c.Name = fmt.Sprintf("member-%d", i)
	p := launch(m.t, c, m.told)
	m.mu.Lock()
	m.members[i], m.all = p, append(m.all, p)
	m.mu.Unlock()
}

func (m *market) told(p *process, line map[string]any) {
	if line["msg"] == "run started" && line["job"] == stock.SettleOrdersName {
		m.mu.Lock()
		m.settling = p
		m.mu.Unlock()
	}
}

// any is where some member is served; empty if that one is not.
func (m *market) any() string {
	m.mu.Lock()
	p := m.members[rand.IntN(len(m.members))]
	m.mu.Unlock()
	return p.url()
}

// ask sends a request to any member, and again to any, until one answers without
// doubt, as a client should. It returns status 0 when ctx ends first.
func (m *market) ask(ctx context.Context, method, path string, form any) (int, map[string]any) {
	body, _ := json.Marshal(form)
	for ctx.Err() == nil {
		if base := m.any(); base != "" {
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
	if err != nil || json.Unmarshal(text, &fields) != nil {
		return 0, nil
	}
	return answer.StatusCode, fields
}

// put puts in a product, in all.
func (m *market) put(ctx context.Context, sku string, total int64) {
	if status, answer := m.ask(ctx, http.MethodPut, "/products/"+sku, map[string]any{"price": priceOf.Price, "currency": priceOf.Currency}); status != http.StatusOK {
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
	form := map[string]any{"id": id, "receiver": o.Receiver, "items": items}
	switch status, answer := m.ask(ctx, http.MethodPost, "/orders", form); {
	case status == http.StatusCreated || status == http.StatusOK:
		m.mu.Lock()
		m.accepted[id] = o
		m.mu.Unlock()
		m.end(ctx, id)
	case status == http.StatusConflict && answer["type"] == "urn:cronce:stock:sold-out":
		m.mu.Lock()
		m.refused++
		m.mu.Unlock()
	default:
		m.t.Errorf("order %s: %d %v", id, status, answer)
	}
}

// pick is an order of one or two products.
func (m *market) pick(id string, skus []string) stock.Order {
	first := rand.IntN(len(skus))
	items := []stock.Item{{SKU: skus[first], Quantity: 1 + rand.Int64N(3)}}
	if rand.IntN(3) == 0 {
		items = append(items, stock.Item{SKU: skus[(first+1)%len(skus)], Quantity: 1})
	}
	return order(id, items...)
}

// end pays half of the orders, cancels some, and leaves the others to their time.
func (m *market) end(ctx context.Context, id string) {
	var status int
	var answer map[string]any
	want := stock.Paid
	switch rand.IntN(10) {
	case 0, 1:
		want = stock.Cancelled
		status, answer = m.ask(ctx, http.MethodDelete, "/orders/"+id, nil)
	case 2, 3, 4:
		return
	default:
		status, answer = m.ask(ctx, http.MethodPost, "/orders/"+id+"/pay", nil)
	}
	state := stock.State(fmt.Sprint(answer["state"]))
	switch {
	case status == http.StatusOK && state == want:
	case status == http.StatusConflict && state == stock.Expired:
	default:
		m.t.Errorf("%s of order %s: %d %v", want, id, status, answer)
	}
	m.mu.Lock()
	m.ended[id] = state
	m.mu.Unlock()
}
