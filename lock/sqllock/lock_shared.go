package sqllock

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A holder is an owner that holds a key, or for which the key is kept.
type holder struct {
	Owner string `json:"owner"`
	Fence int64  `json:"fence,omitempty"`
	Until int64  `json:"until"`
	Limit int    `json:"limit"`
	Place int64  `json:"place,omitempty"` // not 0: the key is only kept for the owner, which had this place; negative: for the second time
}

// read lists the holders that are alive, the earliest first. A single holder is in the columns of
// the row, where one statement can grant, renew and free the key.
func (l *lease) read(key string) error {
	l.held, l.unanswered = nil, nil
	if l.holders == "" {
		if l.owner != "" {
			l.held = []holder{{Owner: l.owner, Fence: l.fence, Until: l.until, Limit: 1, Place: l.place}}
		}
	} else if err := json.Unmarshal([]byte(l.holders), &l.held); err != nil {
		return fmt.Errorf("%w: the holders of %q: %w", driver.ErrUnreadable, key, err)
	}
	l.revived = false
	l.held = slices.DeleteFunc(l.held, func(h holder) bool {
		if h.Until <= l.now && h.Place != 0 && !h.stalled(l.now) {
			l.unanswered = append(l.unanswered, h)
		}
		return h.Until <= l.now && !h.stalled(l.now)
	})
	for i := range l.held {
		if h := &l.held[i]; h.stalled(l.now) {
			h.Until, h.Place = l.now+micros(reserved), -h.Place
			l.revived = true
		}
	}
	return nil
}

// number returns the number of the place for which the key is kept.
func (h *holder) number() int64 { return max(h.Place, -h.Place) }

// stalled reports whether the key was kept for an owner while the database stood still: otherwise
// other waiters would have read the row soon after the deadline. The owner could not take the key
// either, so the key is kept once more; its place is then negative.
func (h *holder) stalled(now int64) bool { return h.Place > 0 && now-h.Until > micros(rarest) }

// write stores the list of holders in the columns.
func (l *lease) write() error {
	l.owner, l.place, l.until, l.holders = "", 0, 0, ""
	if len(l.held) == 1 && l.held[0].Limit <= 1 {
		l.owner, l.place, l.until = l.held[0].Owner, l.held[0].Place, l.held[0].Until
		return nil
	}
	if len(l.held) == 0 {
		return nil
	}
	for _, h := range l.held {
		l.until = max(l.until, h.Until)
	}
	text, err := json.Marshal(l.held)
	l.holders = string(text)
	return err
}

// find returns the entry of the owner, or nil.
func (l *lease) find(owner string) *holder {
	i := slices.IndexFunc(l.held, func(h holder) bool { return h.Owner == owner })
	if i < 0 {
		return nil
	}
	return &l.held[i]
}

// grantedTo returns the entry of the owner if it was granted the key, or nil.
func (l *lease) grantedTo(owner string) *holder {
	if h := l.find(owner); h != nil && h.Place == 0 {
		return h
	}
	return nil
}

// remove removes an owner from the list.
func (l *lease) remove(owner string) {
	l.held = slices.DeleteFunc(l.held, func(h holder) bool { return h.Owner == owner })
}

// kept reports whether the key is only kept for some owner.
func (l *lease) kept() bool {
	return slices.ContainsFunc(l.held, func(h holder) bool { return h.Place != 0 })
}

// fits applies the rule of all locks: the number of holders, with one more, is at most the smallest
// limit among them.
func fits(held []holder, limit int) bool {
	for _, h := range held {
		limit = min(limit, h.Limit)
	}
	return len(held)+1 <= max(limit, 1)
}

// left returns for how long a holder still has the key.
func (l *lease) left(h *holder) time.Duration { return time.Duration(h.Until-l.now) * time.Microsecond }

func (l *lease) grant(h *holder) driver.Grant { return driver.Grant{Fence: h.Fence, Left: l.left(h)} }

// untilFirst returns the time until the earliest deadline.
func (l *lease) untilFirst() time.Duration {
	var first time.Duration
	for i := range l.held {
		if left := l.left(&l.held[i]); i == 0 || left < first {
			first = left
		}
	}
	return first
}

func (l *lease) refusal(key string) error { return &driver.HeldError{Key: key, Left: l.untilFirst()} }

// AcquireAll requests all keys in one transaction, at one instant.
func (d *Driver) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	keys := make([]string, len(as))
	for i := range as {
		keys[i] = as[i].Key
	}
	slices.Sort(keys)
	var grants []driver.Grant
	var held error
	err := d.inKeyTxs(ctx, keys, func(ts map[string]*keyTx) (err error) {
		grants, held, err = several(ts, as)
		return err
	})
	if err == nil {
		err = held
	}
	if err != nil {
		return nil, failed("acquire", err)
	}
	return grants, nil
}

// several grants all keys or none. If it grants none, it takes back the grants of an earlier
// request of the owner, and serves the owners that this request has displaced in vain.
func several(ts map[string]*keyTx, as []driver.Acquisition) (grants []driver.Grant, held, err error) {
	grants = make([]driver.Grant, len(as))
	for i := range as {
		var ok bool
		if grants[i], ok, err = ts[as[i].Key].may(&as[i]); err != nil {
			return nil, nil, err
		}
		if !ok {
			held = ts[as[i].Key].refusal(as[i].Key)
			break
		}
	}
	for i := range as {
		t := ts[as[i].Key]
		switch {
		case held != nil:
			if err := t.free(as[i].Owner); err != nil {
				return nil, nil, err
			}
		case grants[i].Fence == 0:
			if grants[i], err = t.grant(&as[i]); err != nil {
				return nil, nil, err
			}
		}
	}
	return grants, held, nil
}

// ReleaseAll frees keys, one after the other.
func (d *Driver) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	errs := make([]error, len(hs))
	for i := range hs {
		errs[i] = d.Release(ctx, hs[i])
	}
	return errs
}
