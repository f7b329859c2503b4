package reward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/guard"
)

// The refusals of a step. Nothing was changed.
var (
	ErrNoReward   = errors.New("the family has no such reward")
	ErrNotOffered = errors.New("the reward was not offered to the family")
	ErrNotClaimed = errors.New("the reward was not claimed")
	ErrWithdrawn  = errors.New("the reward was withdrawn")
	ErrDelivered  = errors.New("the reward was delivered")
)

// Offer records that a family may claim a reward, and returns the record. A repeated call changes
// nothing, whatever the state. A field that is not allowed is a *FieldError; any other error is
// doubt, after which the call may be repeated.
func (d *Desk) Offer(ctx context.Context, family, reward string) (Record, error) {
	c, err := named(family, reward)
	if err != nil {
		return Record{}, fmt.Errorf("reward: offer: %w", err)
	}
	if _, err = d.book.db.ExecContext(ctx, d.book.offer, family, reward); err != nil {
		return Record{}, fmt.Errorf("reward: offer %s: %w", c, err)
	}
	r, found, err := d.book.Find(ctx, family, reward)
	if err == nil && !found {
		err = ErrNoReward
	}
	if err != nil {
		return Record{}, fmt.Errorf("reward: offer %s: %w", c, err)
	}
	return r, nil
}

// Deliver calls Options.Hand for a claimed reward and records the delivery, once: a repeated call
// returns the same record and does not call Hand. It returns ErrNoReward, ErrNotClaimed,
// ErrWithdrawn or a *FieldError; any other error is doubt, as of Claim.
func (d *Desk) Deliver(ctx context.Context, family, reward string) (Record, error) {
	return d.step(ctx, "deliver", family, reward, func(lease *lock.Lease, c Claim, r Record) (Record, error) {
		switch r.State {
		case Delivered:
			return r, nil
		case Offered:
			return Record{}, ErrNotClaimed
		case Withdrawn:
			return Record{}, ErrWithdrawn
		}
		if d.options.Hand != nil {
			if err := d.options.Hand(lease.Context(), r); err != nil {
				return Record{}, fmt.Errorf("hand over: %w", err)
			}
		}
		return d.move(lease, c, d.book.deliver, Delivered)
	})
}

// Withdraw ends an offered or claimed reward: it can no longer be claimed, delivered or offered. A
// repeated call returns the same record. It returns ErrNoReward, ErrDelivered or a *FieldError; any
// other error is doubt, as of Claim.
func (d *Desk) Withdraw(ctx context.Context, family, reward string) (Record, error) {
	return d.step(ctx, "withdraw", family, reward, func(lease *lock.Lease, c Claim, r Record) (Record, error) {
		switch r.State {
		case Withdrawn:
			return r, nil
		case Delivered:
			return Record{}, ErrDelivered
		}
		return d.move(lease, c, d.book.withdraw, Withdrawn)
	})
}

// step makes a step while it holds the lock, after it has stored the fence in the database.
func (d *Desk) step(ctx context.Context, verb, family, reward string, do func(*lock.Lease, Claim, Record) (Record, error)) (Record, error) {
	c, err := named(family, reward)
	if err != nil {
		return Record{}, fmt.Errorf("reward: %s: %w", verb, err)
	}
	r, err := d.locked(ctx, c, func(lease *lock.Lease, c Claim) (Record, error) {
		if err := d.book.enter(lease.Context(), c, lease.Fence()); err != nil {
			return Record{}, err
		}
		r, found, err := d.book.Find(lease.Context(), family, reward)
		if err == nil && !found {
			err = ErrNoReward
		}
		if err != nil {
			return Record{}, err
		}
		return do(lease, c, r)
	})
	if err != nil {
		return Record{}, fmt.Errorf("reward: %s %s: %w", verb, c, err)
	}
	return r, nil
}

// move writes the step. A later lease may have made the same step.
func (d *Desk) move(lease *lock.Lease, c Claim, query string, to State) (Record, error) {
	r, err := d.book.move(lease.Context(), c, lease.Fence(), query)
	switch {
	case err != nil:
		return Record{}, err
	case r.State == to:
		d.options.Logger.LogAttrs(lease.Context(), slog.LevelInfo, "reward "+string(to), r.attrs()...)
		return r, nil
	case r.State == Withdrawn:
		return Record{}, ErrWithdrawn
	case r.State == Delivered:
		return Record{}, ErrDelivered
	}
	return Record{}, fmt.Errorf("under fence %d: %w", lease.Fence(), guard.ErrStale)
}

// named returns a claim without a member.
func named(family, reward string) (Claim, error) {
	c := Claim{Family: family, Reward: reward, Member: "none"}
	err := c.Validate()
	c.Member = ""
	return c, err
}
