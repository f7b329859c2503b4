package lock

import (
	"context"
	"fmt"
)

// MaxReplicas bounds how many replicas may be asked for.
const MaxReplicas = 100

// Replicated is a Driver that waits for the replicas which an [Acquisition], a
// [Holding], a [Claim] or a [RunRef] asks for: its grants and renewals count once
// so many of them have the write. Others refuse such requests with ErrUnsupported.
//
// Replicas make the loss of a grant by failover less likely. They are no
// guarantee: a replica that did not acknowledge, or one whose clock is ahead, may
// be promoted all the same.
type Replicated interface {
	// Replicas tells how many replicas of the server that judges key answer at the
	// moment.
	Replicas(ctx context.Context, key string) (int, error)
}

// A ReplicasError is doubt: the store did what was asked, but too few replicas
// acknowledged it in time. A grant was undone, as far as the store could be
// reached; a renewal moved the deadline in the store, not the trust here. Match it
// with errors.AsType[*ReplicasError].
type ReplicasError struct {
	Key   string
	Want  int // replicas that were asked for
	Acked int // replicas that acknowledged
}

func (e *ReplicasError) Error() string {
	return fmt.Sprintf("lock: %q: %d of %d replicas acknowledged in time", e.Key, e.Acked, e.Want)
}

// CheckNoReplicas is for drivers that are not [Replicated]: it returns an error
// that wraps ErrUnsupported if n replicas, more than 0, are asked for.
func CheckNoReplicas(n int) error {
	if n > 0 {
		return fmt.Errorf("lock: %d replicas: %w", n, ErrUnsupported)
	}
	return nil
}

// checkReplicas refuses what no store could wait for.
func checkReplicas(n int) error {
	if n < 0 || n > MaxReplicas {
		return refuse("replicas", fmt.Sprint(n), fmt.Sprintf("0 to %d", MaxReplicas))
	}
	return nil
}
