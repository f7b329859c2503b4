package stock

import (
	"context"
	"fmt"
	"log/slog"
)

// lookUp finds orders that were settled a while ago, each once. One that the
// database has lost since is settled again.
func (r *reconciler) lookUp(ctx context.Context) error {
	for {
		if err := r.work.may(ctx, "look up"); err != nil {
			return err
		}
		keys := r.sale.keys(keyFence+reconciling, keyRecent)
		pairs, err := r.sale.fenced(ctx, recentScript, keys, r.work.fence, r.after.Milliseconds(), maxBatch)
		if err != nil {
			return fmt.Errorf("stock: find settled orders: %w", err)
		}
		if len(pairs) < 2 {
			return nil
		}
		if err := r.lookUpThese(ctx, pairs); err != nil {
			return err
		}
	}
}

// lookUpThese looks up id, settled when, id, …
func (r *reconciler) lookUpThese(ctx context.Context, pairs []string) error {
	ids := make([]string, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		ids = append(ids, pairs[i])
	}
	var h haul // read before the database is: what it must have at least
	if err := r.sale.readRecords(ctx, ids, &h); err != nil {
		return fmt.Errorf("stock: read settled orders: %w", err)
	}
	found, err := r.database.find(ctx, r.sale.ID(), ids)
	if err != nil {
		return fmt.Errorf("stock: look up settled orders: %w", err)
	}
	missing := make(map[string]string)
	for _, record := range h.records {
		if have, ok := found[record.ID]; !ok || have.before(record) || have.status.open() && !record.State.open() {
			missing[record.ID] = record.stamp()
		}
	}
	for _, id := range h.lost {
		if _, ok := found[id]; !ok {
			r.unknown++
			r.work.log.Error("order lost", slog.String("order", id))
		}
	}
	return r.kept(ctx, ids, pairs, missing)
}

// kept takes the orders off the list, and lets the missing ones be settled again;
// one that is to be settled anyway stays as it is.
func (r *reconciler) kept(ctx context.Context, ids, pairs []string, missing map[string]string) error {
	if err := r.work.may(ctx, "keep"); err != nil {
		return err
	}
	args := make([]any, 0, 3*len(ids))
	for i, id := range ids {
		args = append(args, id, pairs[2*i+1], missing[id])
	}
	keys := r.sale.orderKeys(ids, keyFence+reconciling, keyRecent, keyUnsettled, keySettled, keyRestored, keyDisputed)
	again, err := number(r.sale.fenced(ctx, keptScript, keys, r.work.fence, args...))
	if err != nil {
		return fmt.Errorf("stock: settle lost orders again: %w", err)
	}
	if r.looked += len(ids); again > 0 {
		r.again += again
		r.work.log.Warn("orders settled again: the database had lost them", slog.Int("orders", again))
	}
	return nil
}
