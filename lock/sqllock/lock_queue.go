package sqllock

import (
	"math"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

const (
	reserved   = 2 * time.Second // how long a key is kept for its next owner
	mostProbed = 100             // how many places, at most, get a request for a sign of life at once
	day        = 24 * time.Hour
)

// A place is a place in the queue of a key.
type place struct {
	number    int64
	owner     string
	most      int
	party     string // the process of the owner; empty: not known
	ttl       int64  // µs
	seenFence int64
	asked     int64 // since when the owner owes a sign of life; 0: it owes none; see waits
}

// fields returns the destinations of the columns of a query for places.
func (p *place) fields() []any {
	return []any{&p.number, &p.owner, &p.most, &p.party, &p.ttl, &p.seenFence, &p.asked}
}

// may returns the grant that the owner already has. Otherwise it returns a grant without a fence,
// and reports whether the owner may be granted the key.
func (t *keyTx) may(a *driver.Acquisition) (g driver.Grant, ok bool, err error) {
	if h := t.grantedTo(a.Owner); h != nil {
		return t.lease.grant(h), true, nil
	}
	if a.Barge {
		err = t.barge(a)
	} else {
		err = t.serve()
	}
	if h := t.grantedTo(a.Owner); h != nil {
		return t.lease.grant(h), true, err
	}
	room := fits(t.held, a.Limit) && (a.Barge || !t.queued)
	return driver.Grant{}, room || t.find(a.Owner) != nil, err
}

// acquire grants a key if the owner fits beside its holders and no other owner waits, or if the key is
// kept for the owner.
func (t *keyTx) acquire(a *driver.Acquisition) (granted bool, err error) {
	g, ok, err := t.may(a)
	if ok && err == nil && g.Fence == 0 {
		_, err = t.grant(a)
	}
	return ok, err
}

// next returns the fence of the next grant, for an owner that has seen a fence. There is none above
// the highest number that a column holds: then the fence stays the same, and grant refuses it.
func (t *keyTx) next(seen int64) int64 { return max(min(t.fence, math.MaxInt64-1)+1, t.now, seen+1) }

// grant makes the owner a holder, unless its fence would lie too far ahead.
func (t *keyTx) grant(a *driver.Acquisition) (driver.Grant, error) {
	fence := t.next(a.Fence)
	if err := driver.CheckFence(fence, t.now); err != nil {
		return driver.Grant{}, err
	}
	t.remove(a.Owner) // the entry that kept the key for it
	t.fence = fence
	h := holder{Owner: a.Owner, Fence: t.fence, Until: t.now + micros(a.TTL), Limit: a.Limit}
	t.held = append(t.held, h)
	t.changed = true
	return t.lease.grant(&h), nil
}

// barge sends the owners for which the key is only kept back to the queue, if the owner fits
// without them and does not fit beside them.
func (t *keyTx) barge(a *driver.Acquisition) error {
	rest := slices.DeleteFunc(slices.Clone(t.held), func(h holder) bool { return h.Place != 0 })
	if fits(t.held, a.Limit) || !fits(rest, a.Limit) {
		return nil
	}
	for _, h := range t.held {
		if h.Place == 0 {
			continue
		}
		if err := t.restore(&h, t.now); err != nil {
			return err
		}
	}
	t.held, t.changed = rest, true
	return nil
}

// restore gives an owner for which the key was kept its place back. The owner then owes a sign of
// life, requested at the time that waits describes. With the sign of life it also names its process
// again.
func (t *keyTx) restore(h *holder, asked int64) error {
	_, err := t.exec(t.driver.texts.restore, h.number(), h.Owner, h.Limit, asked)
	return err
}

// serve passes the key to the first owner in its queue, as long as that owner fits beside the
// holders. It grants the key to an owner that waits in this process, and keeps it for any other
// owner.
func (t *keyTx) serve() error {
	for {
		p, found, err := t.first()
		t.queued = found
		if err != nil || !found {
			return err
		}
		if err := t.remind(&p); err != nil {
			return err
		}
		if !fits(t.held, p.most) {
			return t.suspect(&p)
		}
		gone, err := t.exec(t.driver.texts.serve, p.number)
		switch {
		case err != nil:
			return err
		case gone == 0 || t.find(p.owner) != nil: // the owner has just given up, or has the key
			continue
		}
		t.pass(&p)
	}
}

// first reads the first place of the queue that is not passed over.
func (t *keyTx) first() (p place, found bool, err error) {
	found, err = row(t.session.QueryRowContext(t.ctx, t.driver.texts.first, t.driver.ns, t.key, t.now), p.fields()...)
	return p, found, err
}

// suspect requests a sign of life from the first owner in the queue if that owner does not fit and
// others might.
func (t *keyTx) suspect(p *place) error {
	if !fits(t.held, driver.NoLimit) {
		return nil
	}
	return t.challenge(p.number)
}

// challenge requests a sign of life from the owners up to a place.
func (t *keyTx) challenge(last int64) error {
	_, err := exec(t.ctx, t.session, t.driver.texts.challenge, t.now, t.driver.ns, t.key, last)
	return err
}

// pass makes the owner of a place a holder, or keeps the key for it. It also keeps the key if the
// owner's fence would lie too far ahead: the owner's own request then returns that error.
func (t *keyTx) pass(p *place) {
	if p.party == t.driver.party && t.driver.waiters.has(p.owner) {
		_, err := t.grant(&driver.Acquisition{Owner: p.owner, TTL: time.Duration(p.ttl) * time.Microsecond, Fence: p.seenFence, Limit: p.most})
		if err == nil {
			t.given = append(t.given, t.held[len(t.held)-1])
			return
		}
	}
	t.held = append(t.held, holder{Owner: p.owner, Until: t.now + micros(reserved), Limit: p.most, Place: p.number})
	t.kept, t.changed = append(t.kept, *p), true
}

// handOver takes the key from an owner that held it alone. The next owner in this process gets it,
// if it is its turn, and otherwise the next in the queue.
func (t *keyTx) handOver(owner string) error {
	t.remove(owner)
	t.changed = true
	passed, err := t.passInside()
	if passed || err != nil {
		return err
	}
	return t.serve()
}

// passInside grants a free key to the next owner in this process, if it is its turn.
func (t *keyTx) passInside() (bool, error) {
	d := t.driver
	if len(t.held) > 0 {
		return false, nil
	}
	next := d.waiters.next(t.key, d.inside)
	if next == "" {
		return false, nil
	}
	var p place
	found, err := row(t.session.QueryRowContext(t.ctx, d.texts.own, d.ns, t.key, next), p.fields()...)
	if err != nil || !found || p.party != d.party {
		return false, err
	}
	gone, err := t.exec(d.texts.serve, p.number)
	if err != nil || gone == 0 {
		return false, err
	}
	t.pass(&p)
	return true, nil
}

// free takes the key from an owner, and passes it to the next.
func (t *keyTx) free(owner string) error {
	t.remove(owner)
	t.changed = true
	return t.serve()
}

// notify notifies the process of an owner that the key is kept for that owner.
func (t *keyTx) notify(p *place) error {
	d := t.driver
	if d.listen == nil || p.party == "" || p.party == d.party {
		return nil
	}
	_, err := exec(t.ctx, t.session, d.texts.notify, channel(p.party), p.owner)
	return err
}
