package stock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// restoreDisputes puts the disputed orders onto the shelf, paid ones first, as far as
// there is stock for them. The others stay in the book.
func (s *Sale) restoreDisputes(ctx context.Context, r *Restored) error {
	all, err := s.Disputes(ctx)
	if err != nil {
		return err
	}
	if err := s.forgetDisputes(ctx, r.Epoch, all); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(d Dispute) bool { return !d.State.holds() })
	unpaid := func(d Dispute) bool { return d.State != Paid }
	paid := slices.DeleteFunc(slices.Clone(all), unpaid)
	all = append(paid, slices.DeleteFunc(all, func(d Dispute) bool { return !unpaid(d) })...)
	r.Disputed = len(all)
	seen := map[string]bool{} // the store has one record under an id, and so the counts of one
	all = slices.DeleteFunc(all, func(d Dispute) bool {
		again := seen[d.ID]
		seen[d.ID] = true
		return again
	})
	for some := range slices.Chunk(all, maxBatch) {
		names := make([]string, len(some))
		args := []any{r.Epoch}
		for i, d := range some {
			names[i] = d.ID
			args = append(args, d.ID, d.line, d.BookHas)
		}
		if err := s.step(ctx, redisputeScript, s.orderKeys(names, keyShelf, keyDisputed, keyStock, keyReserved, keySold, keyDue, keyBought), args...); err != nil {
			return fmt.Errorf("put disputed orders: %w", err)
		}
	}
	return nil
}

// forgetDisputes removes which orders the store has as disputed, but for what was decided and the book
// does not have yet. The store may be older than the book, and name disputes that are over, or
// have orders on the shelf for which there is no stock now.
func (s *Sale) forgetDisputes(ctx context.Context, epoch string, all []Dispute) error {
	has, err := again(ctx, func() (map[string]string, error) { return s.client.HGetAll(ctx, s.key(keyDisputed)).Result() })
	if err != nil {
		return fmt.Errorf("read disputed orders: %w", err)
	}
	for _, d := range all {
		if strings.HasPrefix(has[d.ID], "decided ") {
			delete(has, d.ID)
		}
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(has)), maxBatch) {
		if err := s.step(ctx, undisputeScript, s.keys(keyShelf, keyDisputed), argsOf(some, epoch)...); err != nil {
			return fmt.Errorf("remove disputed orders: %w", err)
		}
	}
	return nil
}
