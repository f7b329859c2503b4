package sqllock

import (
	"context"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Now reads the clock of the database. The Server of the reading is the server's own address
// (PostgreSQL) or host name (MySQL), and its port.
func (d *Driver) Now(ctx context.Context) ([]driver.ClockReading, error) {
	r, err := withSession(ctx, d, func(s session) (driver.ClockReading, error) { return d.reading(ctx, s) })
	if err != nil {
		return nil, failed("now", err)
	}
	return []driver.ClockReading{r}, nil
}

func (d *Driver) reading(ctx context.Context, s session) (driver.ClockReading, error) {
	var us int64
	r := driver.ClockReading{Sent: time.Now()}
	err := s.QueryRowContext(ctx, d.texts.now).Scan((*instant)(&us), &r.Server)
	r.Time, r.Received = time.UnixMicro(us), time.Now()
	return r, err
}

// clock returns the time of [Driver.Now] in µs.
func (d *Driver) clock(ctx context.Context) (us int64, err error) {
	rs, err := d.Now(ctx)
	if err != nil {
		return 0, err
	}
	return rs[0].Time.UnixMicro(), nil
}
