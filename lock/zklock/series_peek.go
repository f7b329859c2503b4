package zklock

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var _ series.Peeker = (*Driver)(nil)

// Peek reports which numbers are decided. It only reads, and uses its estimate of the leader's
// clock.
func (d *Driver) Peek(ctx context.Context, ps []series.NumberRef, _ bool) ([]*series.Answer, error) {
	ps = slices.Clone(ps) // the caller may be gone before the last series is read
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
		case !errors.Is(err, driver.ErrUnreadable): // if the series cannot be read, it is not known whether the number is decided
			errs[i] = err
		}
	})
	return out, cmp.Or(errs...) // one cut connection fails all of them
}
