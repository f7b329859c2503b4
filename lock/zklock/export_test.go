package zklock

import (
	"time"

	"github.com/go-zookeeper/zk"
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

// LockPath returns the path of the node of a plain lock.
func (d *Driver) LockPath(key string) string { return d.paths.lock(key) }

// SeriesPath returns the path of the node of a series.
func (d *Driver) SeriesPath(key string) string { return d.paths.of(key) }

// Places returns how many places the Driver has.
func (d *Driver) Places() int {
	d.places.mu.Lock()
	defer d.places.mu.Unlock()
	return len(d.places.all)
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
