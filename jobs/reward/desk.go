package reward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/guard"
)

// DefaultWait is the default of Options.Wait.
const DefaultWait = 10 * time.Second

// Options are the options of a Desk. The zero value is valid.
type Options struct {
	// Prepare is what must be done before a reward is recorded, while no other member
	// of the family does the same: check that it is theirs, set a voucher aside.
	// Its context ends when the lease is lost. An error ends the claim; nothing is
	// recorded then. After doubt the claim may be repeated, and Prepare with it.
	// Nil: nothing.
	Prepare func(ctx context.Context, c Claim) error
	// OfferedOnly refuses claims of rewards that were not offered to the family: ErrNotOffered.
	OfferedOnly bool
	// Hand delivers a claimed reward, for example by shipping it, while no other process does the
	// same. Its context ends when the lease is lost. After an error the reward stays claimed. If
	// the process dies after Hand and before the record, the next Deliver calls Hand again, so the
	// service that Hand calls must drop repeats by family and reward. Nil: nothing is called.
	Hand func(ctx context.Context, r Record) error
	// Wait bounds the time for which a claim waits for the lock. Zero: DefaultWait.
	Wait time.Duration
	// TTL is how long the lock of a dead process is held, 500 ms to 24 h. Zero: lock.DefaultTTL.
	TTL time.Duration
	// Logger gets "reward recorded", with personal data masked. Nil: none.
	Logger *slog.Logger
}

// A Desk accepts claims. It may be used concurrently. Each process has its own, on the same Book
// and the same store of locks.
type Desk struct {
	book    *Book
	locker  *lock.Locker
	options Options
}

// NewDesk returns a Desk. An error is a *FieldError for each argument that is not
// allowed, joined.
func NewDesk(book *Book, locker *lock.Locker, o Options) (*Desk, error) {
	var faults []error
	if book == nil {
		faults = append(faults, &FieldError{"book", "nil", "what Open returns"})
	}
	if locker == nil {
		faults = append(faults, &FieldError{"locker", "nil", "a lock.Locker"})
	}
	if o.Wait < 0 {
		faults = append(faults, &FieldError{"wait", o.Wait.String(), "0 or more"})
	}
	if bad, is := errors.AsType[*lock.ArgumentError](lock.Options{TTL: o.TTL}.Validate()); is {
		faults = append(faults, &FieldError{"ttl", o.TTL.String(), bad.Allowed})
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("reward: new desk: %w", err)
	}
	if o.Wait == 0 {
		o.Wait = DefaultWait
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Desk{book: book, locker: locker, options: o}, nil
}

// Claim records a reward for a family, once, and returns the record. If another member has it, the
// error is a *TakenError. If it was withdrawn, or not offered, the error is ErrWithdrawn or
// ErrNotOffered. If the same member has it, Claim returns the record again. A field that is not
// allowed is a *FieldError. Any other error is doubt, and the claim may be repeated: guard.ErrStale
// means that the lease was lost and nothing was recorded, context.DeadlineExceeded that the lock
// was not free in time.
func (d *Desk) Claim(ctx context.Context, c Claim) (Record, error) {
	if err := c.Validate(); err != nil {
		return Record{}, fmt.Errorf("reward: claim: %w", err)
	}
	r, err := d.claim(ctx, c)
	if _, taken := errors.AsType[*TakenError](err); err != nil && !taken {
		err = fmt.Errorf("reward: claim %s: %w", c, err)
	}
	return r, err
}

// claim takes no lock for a reward that is already recorded.
func (d *Desk) claim(ctx context.Context, c Claim) (Record, error) {
	if r, found, err := d.book.Find(ctx, c.Family, c.Reward); err != nil || claimed(r, found) {
		return decide(c, r, err)
	}
	return d.locked(ctx, c, d.under)
}

// locked calls do while it holds the lock of family and reward.
func (d *Desk) locked(ctx context.Context, c Claim, do func(*lock.Lease, Claim) (Record, error)) (Record, error) {
	wait, stop := context.WithTimeout(ctx, d.options.Wait) // bounds the wait, not the lease
	lease, err := d.locker.Acquire(wait, c.key(), lock.Options{TTL: d.options.TTL, Context: ctx})
	stop()
	if err != nil {
		return Record{}, err
	}
	defer release(ctx, lease)
	return do(lease, c)
}

// releaseTimeout bounds the wait for a release.
const releaseTimeout = 2 * time.Second

// release releases the lock. If that fails, the lock ends with its TTL, and the result of the claim
// stays valid.
func release(ctx context.Context, lease *lock.Lease) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer stop()
	_ = lease.Release(ctx)
}

// under claims while the lock is held. It stores the fence in the database before it reads: an
// earlier holder that was stopped can then write no more.
func (d *Desk) under(lease *lock.Lease, c Claim) (Record, error) {
	ctx, fence := lease.Context(), lease.Fence()
	if err := d.book.enter(ctx, c, fence); err != nil {
		return Record{}, err
	}
	r, found, err := d.book.Find(ctx, c.Family, c.Reward)
	switch {
	case err != nil || claimed(r, found):
		return decide(c, r, err)
	case !found && d.options.OfferedOnly:
		return Record{}, ErrNotOffered
	}
	if d.options.Prepare != nil {
		if err := d.options.Prepare(ctx, c); err != nil {
			return Record{}, fmt.Errorf("prepare: %w", err)
		}
	}
	r, err = d.record(ctx, c, fence)
	if err == nil && r.Fence == fence {
		d.options.Logger.LogAttrs(ctx, slog.LevelInfo, "reward recorded", r.attrs()...)
	}
	return decide(c, r, err)
}

// recordTries bounds the attempts to write a record after doubt, such as a deadlock of two
// transactions.
const recordTries = 3

func (d *Desk) record(ctx context.Context, c Claim, fence int64) (Record, error) {
	for try := 1; ; try++ {
		r, err := d.book.record(ctx, c, fence, !d.options.OfferedOnly)
		if err == nil || errors.Is(err, guard.ErrStale) || try == recordTries || !sleep(ctx, time.Duration(try)*20*time.Millisecond) {
			return r, err
		}
	}
}

// sleep reports whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// decide returns the answer to a claim from the existing record.
func decide(c Claim, r Record, err error) (Record, error) {
	if err == nil && r.State == Withdrawn {
		return Record{}, ErrWithdrawn
	}
	if err != nil || r.Member == c.Member {
		return r, err
	}
	return Record{}, &TakenError{Family: r.Family, Reward: r.Reward, Member: r.Member, At: r.At}
}
