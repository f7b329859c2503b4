package stock

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
	"github.com/redis/go-redis/v9"
)

// Defaults of Options.
const (
	defaultNamespace      = "cronce"
	defaultName           = "shop"
	defaultHold           = 15 * time.Minute
	defaultRetention      = 7 * 24 * time.Hour
	defaultReplicaTimeout = time.Second
	defaultEventRetention = 7 * 24 * time.Hour
)

// maxReplicaTimeout is shorter than a client's default wait for a reply.
const maxReplicaTimeout = 2 * time.Second

// Options are the options of a sale. The zero value is valid.
type Options struct {
	// Namespace begins all keys: [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
	// Empty: cronce.
	Namespace string
	// Name distinguishes the sales of a namespace, with the same characters. All
	// keys of a sale share a slot. Empty: shop.
	Name string
	// Hold is how long an order may stay unpaid, at least a millisecond and at
	// most Retention. Zero: 15m.
	Hold time.Duration
	// Retention is how long closed orders and their ids are kept after they were settled. At least
	// a minute. Zero: a week.
	Retention time.Duration
	// Replicas is the number of replicas that must confirm an answer to a buyer, 0 to 9. Zero:
	// none; the package's documentation states the consequence.
	Replicas int
	// ReplicaTimeout bounds the wait for them, in whole milliseconds up to 2s, which is less than a
	// client waits for a reply. Zero: 1s.
	ReplicaTimeout time.Duration
	// Book is the database that the orders are settled into. With it the store is compared with the
	// book. If the store has lost data that the book or this process knows of, the sale is closed
	// with ErrStockUnknown. A seller's change of a product is acknowledged when the book has it,
	// and is an ErrUnsettled otherwise. Nil: a loss of the store goes unnoticed, and the lost stock
	// is sold again; orders are not settled, and the store keeps them for good.
	Book *Database
	// Settled makes Reserve, Pay and Cancel return only when the book has the new state of the
	// order, so that no loss of the store can undo it. Otherwise settleOrders writes it within
	// about a second. It needs Book. It costs a transaction, which concurrent callers of one
	// process share. Sale.Close ends transactions for which no caller waits any more.
	Settled bool
	// Restore allows settleOrders to rebuild a shelf that has lost data, as Sale.Restore does.
	// Otherwise an operator decides.
	Restore bool
	// EventRetention is how long delivered events are kept, and how long the cursor is kept after
	// the last FollowEvents. At least a minute. Zero: a week.
	EventRetention time.Duration
}

// A Sale keeps the stock of some products and the orders for them in Redis. It may
// be used concurrently, and by many processes at once.
type Sale struct {
	client  redis.UniversalClient
	options Options
	prefix  string
	process string // random id, which distinguishes this Sale from the Sales of other processes
	shelf   shelf
	writer  bookWriter
}

var namePattern = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z`)

// NewSale returns a sale. It sends nothing. The client should be set up by redislock.Harden;
// otherwise the end of a context takes effect only after the client's own timeouts. The caller
// closes the client. The error joins a *FieldError for each option that is not allowed.
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

// ID returns the sale's identity in the store and in the database: namespace:name.
func (s *Sale) ID() string { return s.options.Namespace + ":" + s.options.Name }

func (o Options) filled() Options {
	o.Namespace = cmp.Or(o.Namespace, defaultNamespace)
	o.Name = cmp.Or(o.Name, defaultName)
	o.Hold = cmp.Or(o.Hold, defaultHold)
	o.Retention = cmp.Or(o.Retention, defaultRetention)
	o.ReplicaTimeout = cmp.Or(o.ReplicaTimeout, defaultReplicaTimeout)
	o.EventRetention = cmp.Or(o.EventRetention, defaultEventRetention)
	return o
}

func (o Options) faults() (faults []error) {
	refuse := func(bad bool, field, value, allowed string) {
		if bad {
			faults = append(faults, &FieldError{field, value, allowed})
		}
	}
	const names = "a letter or digit, then up to 63 of A-Z a-z 0-9 . _ -"
	refuse(!namePattern.MatchString(o.Namespace), "namespace", format.Quote(o.Namespace), names)
	refuse(!namePattern.MatchString(o.Name), "name", format.Quote(o.Name), names)
	refuse(o.Retention < time.Minute, "retention", o.Retention.String(), "a minute or more")
	refuse(o.Hold < time.Millisecond || o.Hold > max(o.Retention, time.Minute), "hold", o.Hold.String(), "1ms up to the retention")
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

// orderKeys returns the keys of names, followed by the keys of the orders' records.
func (s *Sale) orderKeys(ids []string, names ...string) []string {
	keys := make([]string, 0, len(names)+len(ids))
	keys = append(keys, s.keys(names...)...)
	for _, id := range ids {
		keys = append(keys, s.prefix+keyOrder+id)
	}
	return keys
}
