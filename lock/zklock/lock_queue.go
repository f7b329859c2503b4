package zklock

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// A queue lists the nodes below the node of a plain lock: the places in their order.
type queue struct {
	places []entry
	floor  bool  // there is a fence above the natural ones
	alone  bool  // nothing was read: the owner before has held the key alone, and has left
	parent int64 // the zxid of the creation of the lock's node; 0: there is none
	// The zxid of the last creation or removal below that node.
	changed int64
}

// unseen is the parent of a queue that was not read.
const unseen = -1

// An entry is one place, as its name describes it: owner, limit and sequence number. By the owner a
// Driver recognises its node after the reply to the creation was lost.
type entry struct {
	name  string
	owner string // escaped
	limit int
	seq   int32
}

// placeName returns the name with which a place is created; the server appends the number.
func placeName(owner string, limit int) string {
	return escape(owner) + "#" + strconv.Itoa(max(limit, 1)) + "#"
}

// floorName is the name of the node that stores a fence above the natural ones.
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

// queueOf reads the queue of a lock. Its places are shared with other calls that read the same queue:
// the caller must not change them.
func (d *Driver) queueOf(c *zk.Conn, key string) (queue, error) {
	return d.reads.share(key, func() (queue, error) { return d.readQueue(c, key) })
}

// readQueue reads the queue from the server. It ignores nodes with other names.
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
	// The server's number wraps around to negative numbers after 2^31 places; places that exist at
	// the same time have close numbers.
	slices.SortFunc(q.places, func(a, b entry) int { return int(a.seq - b.seq) })
	return q, nil
}

// catchUp returns when the connected server knows the state of a lock that its leader had when the
// request was sent. A follower may lag behind, and no message says so: without catchUp it shows
// holders that have left, and not the holders that have come. After an answered write of this
// session catchUp is not needed.
func (d *Driver) catchUp(c *zk.Conn, key string) error {
	_, err := c.Sync(d.paths.lock(key))
	return err
}

// holders returns how many of the places hold the key: the longest prefix of the queue whose limits
// all allow for its length. Places only move forward, so an owner that holds the key holds it until
// it leaves.
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

// find returns the index of the owner's place, or -1.
func (q *queue) find(owner string) int {
	owner = escape(owner)
	return slices.IndexFunc(q.places, func(e entry) bool { return e.owner == owner })
}

// without returns the queue without the places for which drop returns true.
func (q queue) without(drop func(*entry) bool) queue {
	q.places = slices.DeleteFunc(slices.Clone(q.places), func(e entry) bool { return drop(&e) })
	return q
}
