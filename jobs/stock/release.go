package stock

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// lease is short, so that another node soon continues the work of a dead one.
const lease = 5 * time.Second

// ReleaseExpired returns the job releaseExpired. Each run, every five seconds, closes the orders that
// were not paid in time, and puts their items back in stock once. The job's fields may be changed before it is
// registered. A tick is skipped while the previous run works. The tick of a dead node is run again,
// since both runs do the same work. It panics without a sale.
func ReleaseExpired(s *Sale) scheduler.Job {
	if s == nil {
		panic("stock: ReleaseExpired needs a sale")
	}
	return scheduler.Job{
		Name: "releaseExpired", Spec: "0/5 * * * * ?", Takeover: scheduler.TakeoverRerun, Lease: lease,
		Func: func(ctx context.Context, run *scheduler.Run) error {
			return s.release(ctx, workOf(run))
		},
	}
}

// work is the part of a run that the jobs use.
type work struct {
	fence int64
	check func() error
	log   *slog.Logger
	step  func(name string) error // set by tests to stop a run at a step; nil otherwise
}

func workOf(run *scheduler.Run) work {
	return work{fence: run.Fence, check: run.Check, log: run.Logger()}
}

// may returns nil if the run may continue with a step.
func (w work) may(ctx context.Context, step string) error {
	if w.step != nil {
		if err := w.step(step); err != nil {
			return err
		}
	}
	err := context.Cause(ctx)
	if err == nil {
		err = w.check()
	}
	if err != nil {
		return fmt.Errorf("stock: before %s: %w", step, err)
	}
	return nil
}

// release is one run of releaseExpired.
func (s *Sale) release(ctx context.Context, w work) error {
	released, missing := 0, 0
	defer func() {
		if released > 0 {
			w.log.Info("orders expired", slog.Int("orders", released))
		}
	}()
	for {
		if err := w.may(ctx, "overdue"); err != nil {
			return err
		}
		ids, err := s.overdue(ctx, w.fence, maxBatch)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		if err := w.may(ctx, "expire"); err != nil {
			return err
		}
		expired, lost, err := s.expire(ctx, w.fence, ids)
		released += expired
		if err != nil {
			return err
		}
		for _, id := range lost {
			missing++
			w.log.Error("order lost", slog.String("order", id))
		}
	}
	if missing > 0 {
		return fmt.Errorf("stock: release: the store has lost or cannot read the records of %d reserved orders, whose items stay reserved", missing)
	}
	return nil
}

// overdue returns up to n reserved orders that are past their time, oldest first.
func (s *Sale) overdue(ctx context.Context, fence int64, n int) ([]string, error) {
	ids, err := s.fenced(ctx, overdueScript, s.keys(keyFence+releasing, keyDue, keyFresh), fence, n)
	if err != nil {
		return nil, fmt.Errorf("stock: find overdue orders: %w", err)
	}
	return ids, nil
}

// expire closes orders, up to maxBatch, as far as they are past their time, and puts their items
// back in stock. It returns as lost the orders without a readable record in the store.
func (s *Sale) expire(ctx context.Context, fence int64, ids []string) (expired int, lost []string, err error) {
	keys := s.orderKeys(ids, keyFence+releasing, keyStock, keyReserved, keyDue, keyFresh, keyUnsettled, keyBought)
	least, err := s.known(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("stock: expire orders: %w", err)
	}
	keys, args := s.onShelf(least, keys, argsOf(ids))
	codes, err := s.fenced(ctx, expireScript, keys, fence, args...)
	if err == nil && len(codes) != len(ids)+2 {
		err = unknownAnswer(codes)
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
