package zklock

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

// A clock remembers how far the server's clock is ahead of the local one. It serves only for times
// that are displayed; nothing is decided by it.
type clock struct {
	known  atomic.Bool
	offset atomic.Int64 // ms
	fake   func() int64 // in tests: decides instead of the leader's clock
}

// observe records a time, in Unix ms, that the server has just written.
func (k *clock) observe(ms int64) {
	k.offset.Store(ms - time.Now().UnixMilli())
	k.known.Store(true)
}

func (k *clock) now() int64 {
	if k.fake != nil {
		return k.fake()
	}
	return time.Now().UnixMilli() + k.offset.Load()
}

// tick reads the clock of the leader, in Unix ms. Only writes have a time, so it writes a node
// without data.
func (d *Driver) tick(c *zk.Conn) (int64, error) {
	if d.clock.fake != nil {
		return d.clock.fake(), nil
	}
	ms, _, err := d.stamp(c)
	return ms, err
}

// stamp is tick, and also returns the zxid of the write.
func (d *Driver) stamp(c *zk.Conn) (ms, zxid int64, err error) {
	err = d.within(c, d.paths.clock, func() error {
		stat, err := c.Set(d.paths.clock, nil, -1)
		if err == nil {
			ms, zxid = stat.Mtime, stat.Mzxid
			d.clock.observe(ms)
		}
		return err
	})
	return ms, zxid, err
}

// Now reads the clock of the leader, in whole milliseconds.
func (d *Driver) Now(ctx context.Context) ([]driver.ClockReading, error) {
	r, err := bounded(ctx, d, "now", d.readClock, nil)
	if err != nil {
		return nil, err
	}
	return []driver.ClockReading{r}, nil
}

func (d *Driver) readClock(c *zk.Conn) (driver.ClockReading, error) {
	sent := time.Now()
	ms, err := d.tick(c)
	return d.reading(ms, sent), err
}

// reading returns the reading of a time. The clock belongs to the leader, whichever server answers,
// so the reading names the ensemble.
func (d *Driver) reading(ms int64, sent time.Time) driver.ClockReading {
	return driver.ClockReading{Server: strings.Join(d.session.servers, ","), Time: time.UnixMilli(ms), Sent: sent, Received: time.Now()}
}
