package zklock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/revoked"
)

// maxTaken is how many leases one step can take: a request to ZooKeeper has at most one megabyte.
const maxTaken = 1000

// A book is the record of leases on a key that were taken from their owners, as it was read.
type book struct {
	*revoked.Book
	path    string
	there   bool
	version int32
}

// book reads the record of a key.
func (d *Driver) book(c *zk.Conn, key string) (book, error) {
	b := book{path: d.paths.taken + "/" + escape(key)}
	data, stat, err := c.Get(b.path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		b.Book = new(revoked.Book)
		return b, nil
	case err != nil:
		return b, err
	}
	b.Book, b.there, b.version = revoked.Decode(string(data)), true, stat.Version
	return b, nil
}

// kept returns the operation that writes the book, provided that it has not changed since it was
// read.
func (d *Driver) kept(b *book) (any, error) {
	text, err := b.Encode()
	if b.there {
		return &zk.SetDataRequest{Path: b.path, Data: []byte(text), Version: b.version}, err
	}
	return &zk.CreateRequest{Path: b.path, Data: []byte(text), Acl: d.options.ACL}, err
}

// raced reports whether a step changed nothing because the state that it was based on has changed.
func raced(err error) bool {
	return errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrBadVersion)
}

// Force takes a key from its holders: it deletes their places in one step with the record. An owner
// that comes to share the key at the same moment may keep it. A key that more than 1,000 owners
// share is refused with lock.ErrUnsupported: take some of the fences.
func (d *Driver) Force(ctx context.Context, f driver.ForceRequest) (driver.ForceRecord, error) {
	made, err := bounded(ctx, d, "force", func(c *zk.Conn) (driver.ForceRecord, error) { return d.force(ctx, c, &f) }, nil)
	return made, err
}

func (d *Driver) force(ctx context.Context, c *zk.Conn, f *driver.ForceRequest) (driver.ForceRecord, error) {
	for range tries {
		if err := ctx.Err(); err != nil {
			return driver.ForceRecord{}, err
		}
		made, err := d.forceOnce(c, f)
		if !raced(err) {
			if err == nil {
				d.sweepBooks(c)
			}
			return made, err
		}
	}
	return driver.ForceRecord{}, errRestless
}

func (d *Driver) forceOnce(c *zk.Conn, f *driver.ForceRequest) (driver.ForceRecord, error) {
	if err := d.catchUp(c, f.Key); err != nil {
		return driver.ForceRecord{}, err
	}
	b, err := d.book(c, f.Key)
	if err != nil {
		return driver.ForceRecord{}, err
	}
	if made, known := b.Record(f.ID); known {
		return made, nil
	}
	from, steps, err := d.meant(c, f)
	switch {
	case err != nil:
		return driver.ForceRecord{}, err
	case len(from) == 0:
		return driver.ForceRecord{}, driver.ErrFree
	case len(from) > maxTaken:
		return driver.ForceRecord{}, fmt.Errorf("%d owners hold the key, but one step takes at most %d: %w", len(from), maxTaken, driver.ErrUnsupported)
	}
	ms, err := d.tick(c)
	if err != nil {
		return driver.ForceRecord{}, err
	}
	for i := range from {
		from[i].Until += ms * 1000
	}
	made := b.Force(ms*1000, f, from)
	keep, err := d.kept(&b)
	if err != nil {
		return driver.ForceRecord{}, err
	}
	return made, d.within(c, d.paths.taken, func() error {
		_, err := c.Multi(append(steps, keep)...)
		return err
	})
}

// meant returns the holders from which an unlock takes the key, each with the time that it has left
// in Until, and the operations that delete their places.
func (d *Driver) meant(c *zk.Conn, f *driver.ForceRequest) (from []revoked.Holder, steps []any, err error) {
	q, err := d.queue(c, f.Key)
	if err != nil {
		return nil, nil, err
	}
	places := q.places[:q.holders()]
	all, errs := make([]driver.Holder, len(places)), make([]error, len(places))
	parallel(len(places), func(i int) {
		all[i], errs[i] = d.holderAt(c, d.paths.lock(f.Key)+"/"+places[i].name, q.parent)
	})
	for i, h := range all {
		switch owner, _ := unescape(places[i].owner); {
		case errors.Is(errs[i], zk.ErrNoNode): // the owner has just left
		case errs[i] != nil:
			return nil, nil, errs[i]
		case h.Fence != 0 && f.Includes(h.Fence): // otherwise the owner has not taken the key yet
			from = append(from, revoked.Holder{Owner: owner, Fence: h.Fence, Until: h.Left.Microseconds()})
			steps = append(steps, &zk.DeleteRequest{Path: d.paths.lock(f.Key) + "/" + places[i].name, Version: -1})
		}
	}
	return from, steps, nil
}

// ForceRecords returns the records of a key that was freed by force. If the server that answers
// lags behind, they may be outdated.
func (d *Driver) ForceRecords(ctx context.Context, key string) ([]driver.ForceRecord, error) {
	return bounded(ctx, d, "forcings", func(c *zk.Conn) ([]driver.ForceRecord, error) {
		b, err := d.book(c, key)
		if err != nil || !b.there {
			return nil, err
		}
		ms, err := d.tick(c)
		return b.Records(ms * 1000), err
	}, nil)
}

// why returns how a lease that is not alive was taken from its owner, or otherwise if it was not
// taken. Any other error is doubt.
func (d *Driver) why(c *zk.Conn, h *driver.LeaseRef, otherwise error) error {
	if h.Fence == 0 {
		return otherwise
	}
	if _, err := c.Sync(d.paths.taken + "/" + escape(h.Key)); err != nil {
		return err
	}
	b, err := d.book(c, h.Key)
	if err != nil || !b.there {
		return orElse(err, otherwise)
	}
	ms, err := d.tick(c)
	if err != nil {
		return err
	}
	return b.Why(ms*1000, h, otherwise)
}

func orElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// sweepBooks removes some books of other keys, chosen at random, that no longer count, so that
// their number stays bounded. A removal that fails is done another time.
func (d *Driver) sweepBooks(c *zk.Conn) {
	if d.clock.fake != nil || !d.clock.known.Load() {
		return
	}
	names, _, err := c.Children(d.paths.taken)
	if err != nil {
		return
	}
	now := d.clock.now() * 1000
	for range min(len(names), swept) {
		path := d.paths.taken + "/" + names[rand.IntN(len(names))]
		data, stat, err := c.Get(path)
		if err == nil && revoked.Decode(string(data)).Expires() <= now-time.Hour.Microseconds() { // the clock may be slightly wrong
			_ = c.Delete(path, stat.Version)
		}
	}
}

// swept is how many books one step reads in order to remove them.
const swept = 4
