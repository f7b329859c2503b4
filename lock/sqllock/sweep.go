package sqllock

import (
	"context"
	"sync"
	"time"
)

const (
	sweepEvery = time.Minute
	sweepTime  = time.Second
	unused     = time.Hour // after the end of its lease
)

// sweeps tells when rows that nobody uses were removed last. The zero value is
// ready.
type sweeps struct {
	mu   sync.Mutex
	last time.Time
}

// due reports, once in a while, that it is time.
func (s *sweeps) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) < sweepEvery {
		return false
	}
	s.last = time.Now()
	return true
}

// sweep removes the rows of keys that nobody has used for a day, some at a time,
// and of nodes that died. They cost nothing but room, so if it fails there is a
// next time.
func (d *Driver) sweep(ctx context.Context) {
	if !d.sweeps.due() {
		return
	}
	ctx, stop := context.WithTimeout(ctx, sweepTime)
	defer stop()
	_ = d.sweepLeases(ctx)
	_, _ = exec(ctx, d.db, d.texts.dead, d.ns)
}

func (d *Driver) sweepLeases(ctx context.Context) error {
	names, err := d.idle(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := d.turn(ctx, name, func(t *turn) error {
			if t.until > t.now-micros(unused) {
				return nil
			}
			if _, err := t.exec(d.texts.clear); err != nil {
				return err
			}
			_, err := t.exec(d.texts.forget)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// idle lists keys that nobody has used for a day.
func (d *Driver) idle(ctx context.Context) (names []string, err error) {
	rows, err := d.db.QueryContext(ctx, d.texts.idle, d.ns)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
