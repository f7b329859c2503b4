package sqllock

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// RenewAll moves the deadlines of leases to now + TTL, up to 200 in one transaction. Keys with a
// single holder take two statements for all of them. For a lease that is lost, a separate request
// finds out whether it was taken.
func (d *Driver) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	answers := make([]driver.Renewal, len(hs))
	order := make([]int, len(hs))
	for i := range order {
		order[i] = i
	}
	// Transactions that lock rows in one order cannot wait for each other in a circle.
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(hs[a].Key, hs[b].Key) })
	for some := range slices.Chunk(order, maxBatch) {
		made, err := step(ctx, d, func(s session) ([]driver.Renewal, error) { // a try that was given up may still be running
			r, err := d.lockLeases(ctx, s, hs, some)
			if err != nil {
				return nil, err
			}
			made := make([]driver.Renewal, len(some))
			for k, i := range some {
				made[k] = r.renew(&hs[i])
			}
			return made, r.save()
		})
		for k, i := range some {
			a := &answers[i]
			if err != nil {
				a.Err = failed("renew", err)
				continue
			}
			if *a = made[k]; a.Err == nil && a.Fence == 0 {
				a.Grant, a.Err = d.Renew(ctx, hs[i])
			}
		}
	}
	return answers
}

// leaseRows are the rows of several keys, which a transaction has locked.
type leaseRows struct {
	ctx     context.Context
	session session
	driver  *Driver
	us      int64 // the database's clock
	turns   map[string]*keyTx
	bad     map[string]error        // keys whose rows cannot be read
	alone   map[time.Duration][]any // renewed keys with a single holder, by TTL
}

// lockLeases locks the rows of several keys, and then reads the clock.
func (d *Driver) lockLeases(ctx context.Context, s session, hs []driver.LeaseRef, at []int) (*leaseRows, error) {
	r := &leaseRows{ctx: ctx, session: s, driver: d, turns: make(map[string]*keyTx, len(at)), alone: make(map[time.Duration][]any, 1)}
	keys := make([]any, 0, len(at))
	for _, i := range at { // sorted by key
		if n := len(keys); n == 0 || keys[n-1] != hs[i].Key {
			keys = append(keys, hs[i].Key)
		}
	}
	in, args := amongKeys(keys)
	text := d.grammar.locked("name, "+leaseColumns, "cronce_leases WHERE ns = ? AND name IN "+in+" ORDER BY name")
	rows, err := s.QueryContext(ctx, text, append([]any{d.ns}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		t := &keyTx{ctx: ctx, session: s, driver: d}
		if err := rows.Scan(append([]any{&t.key}, t.fields()...)...); err != nil {
			return nil, err
		}
		r.us = max(r.us, t.now) // the clock of the last row, which was read when all rows were locked
		r.turns[t.key] = t
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for key, t := range r.turns {
		t.now = r.us
		if err := t.read(key); err != nil {
			if r.bad == nil {
				r.bad = make(map[string]error)
			}
			r.bad[key] = err
		}
	}
	return r, nil
}

// amongKeys returns a list for IN with a ? for each key, and its arguments.
func amongKeys(keys []any) (list string, args []any) {
	args = slices.Clone(keys)
	for len(args) < roundUp(len(keys)) { // few different texts for the database to prepare
		args = append(args, keys[len(keys)-1])
	}
	return "(?" + strings.Repeat(", ?", len(args)-1) + ")", args
}

// renew answers the renewal of a lease that is alive, or whose row cannot be read. It leaves any
// other renewal unanswered; RenewAll then sends it alone.
func (r *leaseRows) renew(h *driver.LeaseRef) driver.Renewal {
	t := r.turns[h.Key]
	if err := r.bad[h.Key]; err != nil || t == nil {
		return driver.Renewal{Err: failed("renew", err)}
	}
	is := t.grantedTo(h.Owner)
	if is == nil || is.Fence != h.Fence || t.revived || len(t.unanswered) > 0 {
		return driver.Renewal{}
	}
	is.Until = r.us + micros(h.TTL)
	if t.lease.holders == "" {
		r.alone[h.TTL] = append(r.alone[h.TTL], h.Key)
	} else {
		t.changed = true
	}
	return driver.Renewal{Grant: driver.Grant{Fence: h.Fence, Left: h.TTL}}
}

// save writes the deadlines that renew has moved.
func (r *leaseRows) save() error {
	for ttl, keys := range r.alone {
		in, args := amongKeys(keys)
		text := r.driver.grammar.text("UPDATE cronce_leases SET until_us = ? WHERE ns = ? AND name IN " + in)
		if _, err := exec(r.ctx, r.session, text, append([]any{r.us + micros(ttl), r.driver.ns}, args...)...); err != nil {
			return err
		}
	}
	for _, t := range r.turns {
		if err := t.save(); err != nil {
			return err
		}
	}
	return nil
}
