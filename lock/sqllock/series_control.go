package sqllock

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// Control changes a series in one transaction.
func (d *Driver) Control(ctx context.Context, c series.Control) series.ControlAnswer {
	a, err := step(ctx, d, func(s session) (series.ControlAnswer, error) { return d.control(ctx, s, &c) })
	if err != nil {
		return series.ControlAnswer{Err: failed(string(c.Action), err)}
	}
	return a
}

// control locks the audit before the series, so that the times of its records are in the order of
// their numbers. No other transaction locks the audit.
func (d *Driver) control(ctx context.Context, s session, c *series.Control) (a series.ControlAnswer, err error) {
	last, err := d.lastAudit(ctx, s)
	if err != nil {
		return a, err
	}
	b, err := d.lockSeries(ctx, s, []string{c.Key}, false)
	if err != nil {
		return a, err
	}
	r := b.record(c.Key)
	if r.err != nil {
		return a, fmt.Errorf("%w: %w", driver.ErrUnreadable, r.err)
	}
	a, made := r.Control(b.us, c, last+1, r)
	if made != nil {
		if err := d.recordChange(ctx, s, made); err != nil {
			return a, err
		}
	}
	return a, b.save(ctx, s, false)
}

// lastAudit locks the audit of the namespace and returns the number of its newest record.
func (d *Driver) lastAudit(ctx context.Context, s session) (int64, error) {
	var text string
	var now instant
	found, err := row(s.QueryRowContext(ctx, d.texts.lockAudit, d.ns), &text, &now)
	if err == nil && !found {
		if _, err := exec(ctx, s, d.texts.beginAudit, d.ns); err != nil {
			return 0, err
		}
		_, err = row(s.QueryRowContext(ctx, d.texts.lockAudit, d.ns), &text, &now)
	}
	if err != nil {
		return 0, err
	}
	last, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: the number of the newest audit record is %q", driver.ErrUnreadable, text)
	}
	return last, nil
}

// recordChange appends a record, and removes the record that is now too old.
func (d *Driver) recordChange(ctx context.Context, s session, r *series.AuditRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := exec(ctx, s, d.texts.record, d.ns, r.Number, r.Key, string(text)); err != nil {
		return err
	}
	if _, err := exec(ctx, s, d.texts.lastAudit, strconv.FormatInt(r.Number, 10), d.ns); err != nil {
		return err
	}
	if r.Number <= series.MaxAudit {
		return nil
	}
	_, err = exec(ctx, s, d.texts.cutAudit, d.ns, r.Number-series.MaxAudit)
	return err
}

// Audit returns the newest n records, with one statement.
func (d *Driver) Audit(ctx context.Context, key string, n int) ([]series.AuditRecord, error) {
	if n <= 0 {
		n = series.MaxAudit
	}
	texts, err := withSession(ctx, d, func(s session) ([]string, error) {
		if key == "" {
			return column(ctx, s, d.texts.audit, d.ns, n)
		}
		return column(ctx, s, d.texts.auditOf, d.ns, key, n)
	})
	if err != nil {
		return nil, failed("audit", err)
	}
	slices.Reverse(texts)
	return series.ReadRecords(texts), nil
}
