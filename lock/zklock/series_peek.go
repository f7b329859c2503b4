package zklock

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var _ series.Peeker = (*Driver)(nil)

// Peek returns which numbers are decided: by reads alone, at what the leader's
// clock seems to be.
func (d *Driver) Peek(ctx context.Context, ps []series.NumberRef, _ bool) ([]*series.Answer, error) {
	ps = slices.Clone(ps) // the caller may be gone before the last is read
	return bounded(ctx, d, "peek", func(c *zk.Conn) ([]*series.Answer, error) { return d.peek(c, ps) }, nil)
}

func (d *Driver) peek(c *zk.Conn, ps []series.NumberRef) ([]*series.Answer, error) {
	if !d.clock.known.Load() {
		if _, err := d.tick(c); err != nil {
			return nil, err
		}
	}
	out, errs := make([]*series.Answer, len(ps)), make([]error, len(ps))
	parallel(len(ps), func(i int) {
		r, err := d.load(c, d.paths.of(ps[i].Key))
		switch {
		case err == nil:
			out[i] = r.Peek(d.clock.now()*1000, ps[i].Number)
		case !errors.Is(err, driver.ErrUnreadable): // that is not known to be decided
			errs[i] = err
		}
	})
	return out, errors.Join(errs...)
}
