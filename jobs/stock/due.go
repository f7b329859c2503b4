package stock

import (
	"context"
	"fmt"
)

// overdue finds up to n reserved orders that are past their time, the oldest
// first.
func (s *Sale) overdue(ctx context.Context, fence int64, n int) ([]string, error) {
	ids, err := s.fenced(ctx, overdueScript, s.keys(keyFence+releasing, keyDue, keyFresh), fence, n)
	if err != nil {
		return nil, fmt.Errorf("stock: look for overdue orders: %w", err)
	}
	return ids, nil
}

// expire closes those of up to maxBatch orders that are past their time, and
// gives back what they reserved. Lost are orders of which the store has no record,
// or one that cannot be read.
func (s *Sale) expire(ctx context.Context, fence int64, ids []string) (expired int, lost []string, err error) {
	keys := s.orderKeys(ids, keyFence+releasing, keyStock, keyReserved, keyDue, keyFresh, keyUnsettled, keyBought)
	least, err := s.known(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("stock: expire orders: %w", err)
	}
	keys, args := s.onShelf(least, keys, argsOf(ids))
	codes, err := s.fenced(ctx, expireScript, keys, fence, args...)
	if err == nil && len(codes) != len(ids)+2 {
		err = strange(codes)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("stock: expire orders: %w", err)
	}
	for i, code := range codes[:len(ids)] {
		switch code {
		case "1":
			expired++
		case "-1":
			lost = append(lost, ids[i])
		}
	}
	return expired, lost, nil
}
