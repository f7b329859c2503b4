package zklock

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// SessionID returns the id of the session, 0 if there is none.
func (d *Driver) SessionID() int64 {
	c, err := d.session.begin()
	if err != nil {
		return 0
	}
	defer d.session.end()
	return c.SessionID()
}

// Trust returns half of the session's timeout.
func (d *Driver) Trust() time.Duration { return d.session.trust() }

// GrantAfterEnded grants a key that two owners may share: first to one whose place ends before it was
// removed, then to one whose place was created before that grant, and whose queue is read after it.
func (d *Driver) GrantAfterEnded(ended, next driver.Acquisition) (before, after driver.Grant, err error) {
	c, err := d.session.begin()
	if err != nil {
		return before, after, err
	}
	defer d.session.end()
	old, p, sent := d.places.get(ended.Key, ended.Owner), d.places.get(next.Key, next.Owner), time.Now()
	defer p.mu.Unlock()
	err = errors.Join(d.create(c, old, &ended, &queue{parent: unseen}, &sent), d.create(c, p, &next, &queue{parent: unseen}, &sent))
	if err == nil {
		before, err = d.grantNow(c, old, &ended, sent)
	}
	old.timer.Stop()
	old.until.Store(&sent)
	old.mu.Unlock()
	if err == nil {
		after, err = d.grantNow(c, p, &next, sent)
	}
	return before, after, err
}

func (d *Driver) grantNow(c *zk.Conn, p *place, a *driver.Acquisition, sent time.Time) (driver.Grant, error) {
	q, err := d.readTidied(c, p)
	if err != nil {
		return driver.Grant{}, err
	}
	return d.confirm(c, p, a, &q, sent)
}

// LockPath returns the path of the node of a plain lock.
func (d *Driver) LockPath(key string) string { return d.paths.lock(key) }

// SeriesPath returns the path of the node of a series.
func (d *Driver) SeriesPath(key string) string { return d.paths.of(key) }

// Sweep removes nodes that a lost request of an owner may have created.
func (d *Driver) Sweep(key, owner string) { d.sweep(key, owner) }

// RemovalPause returns the pause after a number of tries to remove a node failed.
func (d *Driver) RemovalPause(failures int) time.Duration {
	c, err := d.session.begin()
	if err != nil {
		return 0
	}
	defer d.session.end()
	c.Close()
	p := d.places.get("k", "a/1")
	defer p.mu.Unlock()
	p.node = d.LockPath("k") + "/a"
	for range failures {
		_, _ = d.remove(c, p)
	}
	return p.retry
}

// Places returns how many places the Driver has.
func (d *Driver) Places() int {
	d.places.mu.Lock()
	defer d.places.mu.Unlock()
	return len(d.places.all)
}

// TidyMembers reads the members as they are at ms, and removes those that have been gone for a day.
func (d *Driver) TidyMembers(ms int64) ([]series.Member, error) {
	c, err := d.session.begin()
	if err != nil {
		return nil, err
	}
	defer d.session.end()
	return d.members(c, ms, true)
}

// Finished returns when no request runs, not even one whose caller has left.
func (d *Driver) Finished() { d.session.working.Wait() }

// Until returns when the node of a place must be removed.
func (d *Driver) Until(key, owner string) time.Time { return *d.places.peek(key, owner).until.Load() }

// Reads are the running reads of queues. A test reads only the numbers of their parents.
type Reads struct{ reads }

// Share returns the result of a call of read that began after the call of Share.
func (r *Reads) Share(read func() int64) int64 {
	q, _ := r.share("key", func() (queue, error) { return queue{parent: read()}, nil })
	return q.parent
}

// NewRing returns the list of servers that the client uses.
func NewRing() zk.HostProvider { return new(ring) }

// Escape returns the name of the node for a key.
func Escape(s string) string { return escape(s) }

// Unescape reverses Escape.
func Unescape(s string) (string, bool) { return unescape(s) }

// ClockFrom makes another clock, in Unix ms, judge series.
func (d *Driver) ClockFrom(ms func() int64) { d.clock.fake = ms }

// Saw returns the conclusions of a waiter from an event of its watch, of the whole queue or of the
// node before it: whether that node's owner holds the key, and whether it has left.
func Saw(whole, held bool, event zk.EventType) (holds, first bool) {
	v := view{before: "node", held: held}
	if whole {
		v = view{}
	}
	v.observe(zk.Event{Type: event})
	return v.held, v.first
}

// MaxMembers is how many members one step reads, and FirstNames returns their names.
const MaxMembers = maxMembers

func FirstNames(names []string) []string { return firstNames(names) }
