package stock

import (
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Defaults of Options.
const (
	DefaultNamespace      = "cronce"
	DefaultName           = "shop"
	DefaultHold           = 15 * time.Minute
	DefaultPayTime        = 10 * time.Minute
	DefaultRetention      = 7 * 24 * time.Hour
	DefaultReplicaTimeout = time.Second
	DefaultEventRetention = 7 * 24 * time.Hour
)

// maxReplicaTimeout is below the time that a client waits for a reply by default.
const maxReplicaTimeout = 2 * time.Second

// Options are the settings of a sale. The zero value is fine.
type Options struct {
	// Namespace is the beginning of all keys: [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
	// Empty: DefaultNamespace.
	Namespace string
	// Name distinguishes the sales of a namespace, with the same characters. All
	// keys of a sale share a slot. Empty: DefaultName.
	Name string
	// Hold is how long an order may stay unpaid, at least a millisecond and at
	// most Retention. Zero: DefaultHold.
	Hold time.Duration
	// PayTime is how long an order is kept at least once its payment has begun, from then
	// on, whatever Hold says: at least a millisecond and at most Retention. Zero:
	// DefaultPayTime.
	PayTime time.Duration
	// Retention is how long closed orders are kept after they were settled, and
	// their ids known. At least a minute. Zero: DefaultRetention.
	Retention time.Duration
	// Replicas is how many replicas must have confirmed an answer to a buyer, 0 to
	// 9. Zero: none are asked; what that means is in the package's documentation.
	Replicas int
	// ReplicaTimeout is how long to wait for them, in whole milliseconds up to 2s:
	// less than the client waits for a reply. Zero: DefaultReplicaTimeout.
	ReplicaTimeout time.Duration
	// Book is the database that the orders are settled into. With it the store is
	// compared with the book, and the sale is closed, with ErrStockUnknown, while the
	// store has lost anything that the book or this process knows of. What a seller changes of a
	// product is acknowledged once the book has it: ErrUnsettled otherwise. Nil: a store that
	// loses data is not noticed, and what it had is sold again.
	Book *Database
	// Settled lets Reserve, Pay and Cancel return only when the book has what became of
	// the order: it is not lost then, whatever the store loses. Otherwise settleOrders
	// writes it within about a second. It needs Book, and costs a transaction, which
	// callers of one process share. Sale.Close ends one that no caller waits for any more.
	Settled bool
	// Restore lets settleOrders rebuild a shelf that has lost something, as
	// Sale.Restore does, which is otherwise for an operator to decide.
	Restore bool
	// EventRetention is how long events are kept that all targets have, and how long a target
	// that is no longer configured is waited for, at least a minute. Zero: DefaultEventRetention.
	EventRetention time.Duration
}

// A Sale keeps the stock of some products and the orders for them in Redis. It may
// be used concurrently, and by many processes at once.
type Sale struct {
	client        redis.UniversalClient
	options       Options
	prefix        string
	process       string // random: distinguishes this sale's use of the store from that of all others
	shelf         shelf
	orderWriter   bookWriter // writes orders into the book
	productWriter bookWriter // and what sellers change
	answers       answers
}

var namePattern = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z`)

// NewSale returns a sale. It sends nothing. The client should be set up by
// redislock.Harden: a context's end is noticed only when the client's own timeouts
// pass otherwise. The caller closes it. An error joins a *FieldError for each
// option that is not allowed.
func NewSale(client redis.UniversalClient, options Options) (*Sale, error) {
	options = options.filled()
	faults := options.faults()
	if client == nil {
		faults = append(faults, &FieldError{"client", "nil", "a client of go-redis"})
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("stock: new sale: %w", err)
	}
	s := &Sale{client: client, options: options, process: rand.Text()}
	s.prefix = options.Namespace + ":v1:stock:{" + s.ID() + "}:"
	s.shelf.comparing = make(chan struct{}, 1)
	return s, nil
}

// ID is the sale's identity, namespace:name: in the store and in the database.
func (s *Sale) ID() string { return s.options.Namespace + ":" + s.options.Name }

func (o Options) filled() Options {
	fill(&o.Namespace, DefaultNamespace)
	fill(&o.Name, DefaultName)
	fill(&o.Hold, DefaultHold)
	fill(&o.PayTime, DefaultPayTime)
	fill(&o.Retention, DefaultRetention)
	fill(&o.ReplicaTimeout, DefaultReplicaTimeout)
	fill(&o.EventRetention, DefaultEventRetention)
	return o
}

func fill[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

func (o Options) faults() (faults []error) {
	refuse := func(bad bool, field, value, allowed string) {
		if bad {
			faults = append(faults, &FieldError{field, value, allowed})
		}
	}
	const names = "a letter or digit, then up to 63 of A-Z a-z 0-9 . _ -"
	refuse(!namePattern.MatchString(o.Namespace), "namespace", quote(o.Namespace), names)
	refuse(!namePattern.MatchString(o.Name), "name", quote(o.Name), names)
	refuse(o.Retention < time.Minute, "retention", o.Retention.String(), "a minute or more")
	refuse(o.Hold < time.Millisecond || o.Hold > max(o.Retention, time.Minute), "hold", o.Hold.String(), "1ms up to the retention")
	refuse(o.PayTime < time.Millisecond || o.PayTime > max(o.Retention, DefaultPayTime), "pay_time", o.PayTime.String(), "1ms up to the retention")
	refuse(o.EventRetention < time.Minute, "events.retention", o.EventRetention.String(), "a minute or more")
	refuse(o.Replicas < 0 || o.Replicas > 9, "replicas", strconv.Itoa(o.Replicas), "0 to 9")
	refuse(o.Settled && o.Book == nil, "durability", "settled", "settled only with a book")
	refuse(o.ReplicaTimeout < time.Millisecond || o.ReplicaTimeout > maxReplicaTimeout, "replica_timeout", o.ReplicaTimeout.String(), "1ms to 2s")
	return faults
}

func (s *Sale) key(name string) string { return s.prefix + name }

func (s *Sale) keys(names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = s.prefix + name
	}
	return keys
}

// orderKeys are the keys of names, then those of the orders' records.
func (s *Sale) orderKeys(ids []string, names ...string) []string {
	keys := make([]string, 0, len(names)+len(ids))
	keys = append(keys, s.keys(names...)...)
	for _, id := range ids {
		keys = append(keys, s.prefix+keyOrder+id)
	}
	return keys
}
