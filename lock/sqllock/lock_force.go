package sqllock

import (
	"context"
	"errors"
	"math"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/revoked"
)

// Force takes a key from its holders in one transaction. If no owner holds the key, it takes one
// more statement.
func (d *Driver) Force(ctx context.Context, f driver.ForceRequest) (driver.ForceRecord, error) {
	made, err := d.force(ctx, &f)
	return made, failed("force", err)
}

func (d *Driver) force(ctx context.Context, f *driver.ForceRequest) (made driver.ForceRecord, err error) {
	l, _, err := d.readLease(ctx, f.Key)
	if err != nil {
		return made, err
	}
	if len(l.meant(f)) == 0 { // a transaction on it would make a row for the key
		b, _, err := d.book(ctx, f.Key)
		if err != nil {
			return made, err
		}
		return recorded(b, f)
	}
	var answer error
	err = d.inKeyTx(ctx, f.Key, func(t *keyTx) (err error) {
		made, answer, err = t.force(f)
		return err
	})
	if err != nil {
		return driver.ForceRecord{}, err
	}
	return made, answer
}

// recorded returns the answer to an unlock that finds no holder to take the key from.
func recorded(b *revoked.Book, f *driver.ForceRequest) (driver.ForceRecord, error) {
	if made, known := b.Record(f.ID); known {
		return made, nil
	}
	return driver.ForceRecord{}, driver.ErrFree
}

// meant returns the holders from which an unlock takes the key.
func (l *lease) meant(f *driver.ForceRequest) []revoked.Holder {
	var from []revoked.Holder
	for i := range l.held {
		if h := &l.held[i]; h.Place == 0 && f.Includes(h.Fence) {
			from = append(from, revoked.Holder{Owner: h.Owner, Fence: h.Fence, Until: h.Until})
		}
	}
	return from
}

// force ends the leases of the holders, and passes the key to the first owner in the queue.
func (t *keyTx) force(f *driver.ForceRequest) (made driver.ForceRecord, answer, err error) {
	b, err := t.book()
	if err != nil {
		return made, nil, err
	}
	from := t.meant(f)
	if _, known := b.Record(f.ID); known || len(from) == 0 {
		made, answer = recorded(b, f)
		return made, answer, nil
	}
	made = b.Force(t.now, f, from)
	if err := t.keep(b); err != nil {
		return made, nil, err
	}
	for _, h := range from {
		t.taken(h.Owner)
	}
	return made, nil, t.serve()
}

// taken ends the lease of a holder. It raises the fence in the row to one that no owner has: a
// release that found its own fence there would be answered as if it had freed the key.
func (t *keyTx) taken(owner string) {
	t.remove(owner)
	t.fence = min(t.fence, math.MaxInt64-1) + 1
	t.changed = true
}

// ForceRecords returns the records of a key that was freed by force, with one statement.
func (d *Driver) ForceRecords(ctx context.Context, key string) ([]driver.ForceRecord, error) {
	b, now, err := d.book(ctx, key)
	if err != nil {
		return nil, failed("forcings", err)
	}
	return b.Records(now), nil
}

// why returns how a lease that is not alive was taken from its owner, or otherwise if it was not
// taken. Any other error is doubt.
func (d *Driver) why(ctx context.Context, h *driver.LeaseRef, otherwise error) error {
	b, now, err := d.book(ctx, h.Key)
	if err != nil {
		return err
	}
	return b.Why(now, h, otherwise)
}

// freed returns the answer to a release. Doubt about how a lease was taken is doubt about the
// release: otherwise a repeated release would be mistaken for a repetition of its own success.
func (d *Driver) freed(ctx context.Context, h *driver.LeaseRef, answer error) error {
	if h.Fence == 0 || !errors.Is(answer, driver.ErrLost) {
		return answer
	}
	return d.why(ctx, h, answer)
}

// book reads the record of leases on a key that were taken from their owners, and the clock if
// there is one.
func (d *Driver) book(ctx context.Context, key string) (b *revoked.Book, now int64, err error) {
	var text string
	_, err = withSession(ctx, d, func(s session) (bool, error) {
		text = ""
		return row(s.QueryRowContext(ctx, d.texts.book, d.ns, key), &text, (*instant)(&now))
	})
	if err != nil { // a try that was given up may still write the text
		return nil, 0, err
	}
	return revoked.Decode(text), now, nil
}

// book reads the record of the key, whose row is locked.
func (t *keyTx) book() (*revoked.Book, error) {
	var text string
	var now instant
	_, err := row(t.session.QueryRowContext(t.ctx, t.driver.texts.book, t.driver.ns, t.key), &text, &now)
	return revoked.Decode(text), err
}

// keep writes the record of the key.
func (t *keyTx) keep(b *revoked.Book) error {
	text, err := b.Encode()
	if err != nil {
		return err
	}
	var r rows
	r.add(t.driver.ns, t.key, b.Expires(), text)
	return r.send(t.ctx, t.session, &t.driver.grammar, t.driver.texts.putBook)
}
