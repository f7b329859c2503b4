package renew

import (
	"strconv"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/cronce/cronce/lock/driver"
)

// Owners makes owners, each once. It is safe for concurrent use. Make one with OwnersOf.
type Owners struct {
	prefix string // the node, and random bits
	made   atomic.Uint64
}

// OwnersOf returns the Owners of a node.
func OwnersOf(node string) *Owners {
	if node == "" {
		node = uuid.NewString()
	}
	return &Owners{prefix: driver.OwnerPrefix(node)}
}

// Next returns a new owner: node/random.number.
func (o *Owners) Next() string {
	room := make([]byte, 0, 128)
	return string(strconv.AppendUint(append(room, o.prefix...), o.made.Add(1), 36))
}
