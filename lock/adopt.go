package lock

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cronce/cronce/lock/driver"
)

// Token is a text with which another process can take the lease over: see
// [Locker.Adopt]. A process that has it can take the lock, so treat it as a secret. It is good
// for one adoption, while the lease is held; what it names is printable ASCII without
// spaces, up to 1,000 bytes. A lease inside another has the token of that one, and a
// numbered lease has none: "".
//
// End the work under the lease before the token is sent, and do not release the lease:
// it is renewed until the other process has taken it, and then ends with the cause
// [ErrHandedOver], at its next renewal. Its release returns ErrHandedOver before that
// renewal, ErrLost after it, and frees nothing.
func (s *Lease) Token() string {
	if s.outer != nil {
		return s.outer.Token()
	}
	if s.claimer != nil {
		return ""
	}
	text := fmt.Sprintf("%s|%d|%d|%s|%s", tokenVersion, s.ref.Fence, s.limit, s.ref.Owner, s.ref.Key)
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

const (
	tokenVersion = "1"
	maxToken     = 1000
)

// readToken returns the lease that a token names. The error does not repeat it.
func readToken(token string) (driver.LeaseRef, error) {
	bad := &ArgumentError{Argument: "token", Value: fmt.Sprintf("%d bytes that are no token", len(token)), Allowed: "what Lease.Token has returned"}
	if len(token) > maxToken {
		return driver.LeaseRef{}, bad
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(token)
	parts := strings.SplitN(string(text), "|", 5)
	if err != nil || len(parts) != 5 || parts[0] != tokenVersion {
		return driver.LeaseRef{}, bad
	}
	h := driver.LeaseRef{Owner: parts[3], Key: parts[4]}
	var err1, err2 error
	h.Fence, err1 = strconv.ParseInt(parts[1], 10, 64)
	h.Limit, err2 = strconv.Atoi(parts[2])
	if errors.Join(err1, err2, driver.CheckRelease(&h)) != nil || h.Fence < 1 || h.Limit < 0 || h.Limit > NoLimit {
		return driver.LeaseRef{}, bad
	}
	return h, nil
}

// Adopt takes over the lease that a token names, from whatever process: the key is not
// free in between, and the new lease has a greater fence. Of the options TTL, Fixed,
// Context and Note count; the limit is that of the lease, and the others must be zero.
//
// ErrLost: the lease that the token names has ended, or another has adopted it. After
// doubt Adopt asks again, as [Locker.TryAcquire] does; when it gives up it undoes what
// may have been granted, so that the key may be free then, and the old lease lost.
// ErrUnsupported: the store is no [driver.Adopter].
func (l *Locker) Adopt(ctx context.Context, token string, o Options) (*Lease, error) {
	adopter, can := l.driver.(driver.Adopter)
	if !can {
		return nil, fmt.Errorf("lock: adopt: %w", ErrUnsupported)
	}
	from, err := readToken(token)
	if err != nil {
		return nil, err
	}
	if o.Limit != 0 || o.Barge || o.Reenter || o.Replicas != 0 {
		return nil, &ArgumentError{Argument: "options", Value: "Limit, Barge, Reenter or Replicas", Allowed: "TTL, Fixed, Context and Note"}
	}
	a := l.acquisition(from.Key, o)
	a.Limit = from.Limit
	if err := l.check(&a, &o); err != nil {
		return nil, err
	}
	return l.try(ctx, a, &o, func(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
		return adopter.Adopt(ctx, from, a)
	})
}
