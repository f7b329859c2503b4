package stock

import (
	"context"
	"fmt"

	"go.uber.org/zap"
)

// lookUp looks for orders that were settled a while ago, each once. One that the
// database has lost since is settled again.
func (r *reconciler) lookUp(ctx context.Context) error {
	for {
		if err := r.work.may(ctx, "look up"); err != nil {
			return err
		}
		keys := r.sale.keys(keyFence+reconciling, keyRecent)
		ids, err := r.sale.fenced(ctx, recentScript, keys, r.work.fence, r.after.Milliseconds(), maxBatch)
		if err != nil {
			return fmt.Errorf("stock: look for settled orders: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		if err := r.lookUpThese(ctx, ids); err != nil {
			return err
		}
	}
}

func (r *reconciler) lookUpThese(ctx context.Context, ids []string) error {
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
		if have, ok := found[record.ID]; !ok || have.status == Reserved && record.State != Reserved {
			missing[record.ID] = record.stamp()
		}
	}
	for _, id := range h.lost {
		if _, ok := found[id]; !ok {
			r.unknown++
			r.work.log.Error("order lost", zap.String("order", id))
		}
	}
	return r.kept(ctx, ids, missing)
}

// kept takes the orders off the list, and lets the missing ones be settled again;
// one that is to be settled anyway stays as it is.
func (r *reconciler) kept(ctx context.Context, ids []string, missing map[string]string) error {
	if err := r.work.may(ctx, "keep"); err != nil {
		return err
	}
	args := make([]any, 0, 2*len(ids))
	for _, id := range ids {
		args = append(args, id, missing[id])
	}
	keys := r.sale.orderKeys(ids, keyFence+reconciling, keyRecent, keyUnsettled, keySettled)
	again, err := number(r.sale.fenced(ctx, keptScript, keys, r.work.fence, args...))
	if err != nil {
		return fmt.Errorf("stock: settle lost orders again: %w", err)
	}
	if r.looked += len(ids); again > 0 {
		r.again += again
		r.work.log.Warn("orders settled again: the database had lost them", zap.Int("orders", again))
	}
	return nil
}
