package sqllock

import (
	"slices"
	"time"

	"github.com/cronce/cronce/lock"
)

const (
	reserved  = 2 * time.Second  // how long a key is kept for its next owner
	absent    = 5 * time.Second  // how long the first in a queue keeps others waiting without a look
	stale     = 10 * time.Second // after so long unseen a place is passed over
	maxPlaces = 1000             // in the queue of one key
	day       = 24 * time.Hour
)

// may returns the grant that the owner has, or one without a fence if it may be
// granted the key; or reports that it may not.
func (t *turn) may(a *lock.Acquisition) (g lock.Grant, ok bool, err error) {
	if h := t.grantedTo(a.Owner); h != nil {
		return t.lease.grant(h), true, nil
	}
	if a.Barge {
		err = t.barge(a)
	} else {
		err = t.serve()
	}
	room := fits(t.held, a.Limit) && (a.Barge || t.waiting == 0)
	return lock.Grant{}, room || t.find(a.Owner) != nil, err
}

// ask grants a key if the owner fits beside its holders and nobody waits for it,
// or if it is kept for the owner.
func (t *turn) ask(a *lock.Acquisition) (granted bool, err error) {
	g, ok, err := t.may(a)
	if ok && err == nil && g.Fence == 0 {
		t.grant(a)
	}
	return ok, err
}

// grant makes the owner a holder.
func (t *turn) grant(a *lock.Acquisition) lock.Grant {
	t.remove(a.Owner) // what was kept for it
	t.fence = max(t.fence+1, t.now, a.Fence+1)
	h := holder{Owner: a.Owner, Fence: t.fence, Until: t.now + micros(a.TTL), Limit: a.Limit}
	t.held = append(t.held, h)
	t.changed = true
	return t.lease.grant(&h)
}

// barge sends back to the queue those for whom the key is only kept, if the owner
// fits without them and not beside them.
func (t *turn) barge(a *lock.Acquisition) error {
	rest := slices.DeleteFunc(slices.Clone(t.held), func(h holder) bool { return h.Place != 0 })
	if fits(t.held, a.Limit) || !fits(rest, a.Limit) {
		return nil
	}
	for _, h := range t.held {
		if h.Place == 0 {
			continue
		}
		if err := t.enter(h.Place, h.Owner, h.Limit); err != nil {
			return err
		}
	}
	t.held = rest
	return nil
}

// serve keeps the key for the first in its queue as long as it fits beside the
// holders. One that nobody has heard of for long loses its place, the sooner if
// it does not fit: others may.
func (t *turn) serve() error {
	for t.waiting > 0 {
		var h holder
		var seen int64
		first := t.session.QueryRowContext(t.ctx, t.driver.texts.first, t.driver.ns, t.key)
		found, err := row(first, &h.Place, &h.Owner, &h.Limit, &seen)
		if err != nil {
			return err
		}
		if !found {
			t.waiting, t.changed = 0, true
			return nil
		}
		unseen, room := t.now-seen, fits(t.held, h.Limit)
		if !room && unseen <= micros(absent) {
			return nil
		}
		if _, err := t.exec(t.driver.texts.serve, h.Place); err != nil {
			return err
		}
		t.waiting--
		t.changed = true
		if room && unseen <= micros(stale) && t.find(h.Owner) == nil {
			h.Until = t.now + micros(reserved)
			t.held = append(t.held, h)
			t.woken = append(t.woken, h.Owner)
		}
	}
	return nil
}

// free takes the key from an owner, for the next.
func (t *turn) free(owner string) error {
	t.remove(owner)
	t.changed = true
	return t.serve()
}

// enter gives an owner a place.
func (t *turn) enter(place int64, owner string, limit int) error {
	if _, err := t.exec(t.driver.texts.enter, place, owner, limit, t.now); err != nil {
		return err
	}
	t.waiting++
	t.ticket = max(t.ticket, place)
	t.changed = true
	return nil
}

// queue gives the owner a place, unless it has one or there are too many.
func (t *turn) queue(a *lock.Acquisition) error {
	var has int64
	found, err := row(t.session.QueryRowContext(t.ctx, t.driver.texts.find, t.driver.ns, t.key, a.Owner), &has)
	if found || err != nil || t.waiting >= maxPlaces {
		return err
	}
	return t.enter(t.ticket+1, a.Owner, a.Limit)
}
