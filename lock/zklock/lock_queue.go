package zklock

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// A queue is what stands below the node of a plain lock: places in their order.
type queue struct {
	places []entry
	floor  bool  // a fence above the natural ones was granted
	parent int64 // the zxid that made the node of the lock; 0: there is none
	// The zxid that last made or removed something below it.
	changed int64
}

// unseen is the parent of a queue that was not looked at.
const unseen = -1

// An entry is one place, as its name says: owner, limit and sequence number. The
// owner makes it known again after the reply to its creation was lost.
type entry struct {
	name  string
	owner string // escaped
	limit int
	seq   int32
}

// placeName is what a place is created as; the server adds the number.
func placeName(owner string, limit int) string {
	return escape(owner) + "#" + strconv.Itoa(max(limit, 1)) + "#"
}

// floorName is the node that remembers a fence above the natural ones.
const floorName = "floor"

func readEntry(name string) (entry, bool) {
	parts := strings.Split(name, "#")
	if len(parts) != 3 {
		return entry{}, false
	}
	limit, err1 := strconv.ParseInt(parts[1], 10, 32)
	seq, err2 := strconv.ParseInt(parts[2], 10, 32)
	return entry{name: name, owner: parts[0], limit: int(limit), seq: int32(seq)}, err1 == nil && err2 == nil && limit > 0
}

// look reads the queue of a lock. Its places are shared with other calls that read it: they
// are not changed.
func (d *Driver) look(c *zk.Conn, key string) (queue, error) {
	return d.reads.share(key, func() (queue, error) { return d.readQueue(c, key) })
}

// readQueue asks the server. What the names do not belong to is left alone.
func (d *Driver) readQueue(c *zk.Conn, key string) (queue, error) {
	names, stat, err := c.Children(d.paths.lock(key))
	if errors.Is(err, zk.ErrNoNode) {
		return queue{}, nil
	}
	if err != nil {
		return queue{}, err
	}
	q := queue{parent: stat.Czxid, changed: stat.Pzxid}
	for _, name := range names {
		if e, ok := readEntry(name); ok {
			q.places = append(q.places, e)
		}
		q.floor = q.floor || name == floorName
	}
	// The server's number starts again below zero after 2^31 places; those that
	// are there at a time are close to each other.
	slices.SortFunc(q.places, func(a, b entry) int { return int(a.seq - b.seq) })
	return q, nil
}

// catchUp returns when the server that we are connected to knows of a lock what
// its leader knew when it was asked. A server that follows may lag behind, and
// no message says so: without this it shows holders that have left, and none that
// have come. Where we look after a write of ours that was answered it is not
// needed.
func (d *Driver) catchUp(c *zk.Conn, key string) error {
	_, err := c.Sync(d.paths.lock(key))
	return err
}

// holders is how many of the places hold the key: the longest part of the queue
// in which all limits allow for all that stand before. Places only move forward,
// so an owner that holds it once holds it until it leaves.
func (q *queue) holders() int {
	smallest := len(q.places)
	for i := range q.places {
		smallest = min(smallest, q.places[i].limit)
		if smallest < i+1 {
			return i
		}
	}
	return len(q.places)
}

// find returns where the owner stands, or -1.
func (q *queue) find(owner string) int {
	owner = escape(owner)
	return slices.IndexFunc(q.places, func(e entry) bool { return e.owner == owner })
}

// without returns the queue without the places that drop says.
func (q queue) without(drop func(*entry) bool) queue {
	q.places = slices.DeleteFunc(slices.Clone(q.places), func(e entry) bool { return drop(&e) })
	return q
}
