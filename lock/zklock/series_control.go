package zklock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var controls = kind[series.Control, series.ControlAnswer]{
	what:  "control",
	key:   func(c *series.Control) string { return c.Key },
	ready: func(d *Driver, c *zk.Conn, r *record) error { return r.audit.read(d, c) },
	step: func(r *record, us int64, c *series.Control) series.ControlAnswer {
		a, made := r.Control(us, c, r.audit.last+1, r)
		r.audit.record = made
		return a
	},
	doubt: func(_ *series.Control, err error) series.ControlAnswer { return series.ControlAnswer{Err: err} },
}

// Control changes a series, and appends its audit record in the same step.
func (d *Driver) Control(ctx context.Context, c series.Control) series.ControlAnswer {
	return controls.send(ctx, d, []series.Control{c})[0]
}

// An audit is the parent node of the audit records, whose data is the number of the newest record,
// and the record that a step appends.
type audit struct {
	last    int64
	version int32
	record  *series.AuditRecord
}

// read reads the number of the newest record, and creates the node if there is none. A record and
// its number are written in one step, which no other client can interrupt.
func (a *audit) read(d *Driver, c *zk.Conn) error {
	data, stat, err := c.Get(d.paths.audit)
	if errors.Is(err, zk.ErrNoNode) {
		if err := d.ensure(c, d.paths.audit); err != nil {
			return err
		}
		data, stat, err = c.Get(d.paths.audit)
	}
	if err != nil {
		return err
	}
	a.version = stat.Version
	if a.last, err = newestRecord(data, stat); err != nil {
		return fmt.Errorf("%w: %s is %w", driver.ErrUnreadable, d.paths.audit, err)
	}
	return nil
}

// newestRecord returns the number of the newest record from the node of the audit; 0: there is none.
func newestRecord(data []byte, stat *zk.Stat) (int64, error) {
	if len(data) == 0 && stat.NumChildren == 0 {
		return 0, nil
	}
	last, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil || last <= 0 {
		return 0, errors.New(driver.Quote(string(data)))
	}
	return last, nil
}

// writes returns the operations that append the record, or none if there is no record.
func (a *audit) writes(d *Driver) ([]any, error) {
	if a.record == nil {
		return nil, nil
	}
	data, err := json.Marshal(a.record)
	if err != nil {
		return nil, err
	}
	return []any{
		&zk.SetDataRequest{Path: d.paths.audit, Data: []byte(strconv.FormatInt(a.record.Number, 10)), Version: a.version},
		&zk.CreateRequest{Path: d.paths.recordOf(a.record.Number), Data: data, Acl: d.options.ACL},
	}, nil
}

// drop removes the record that has become too old.
func (a *audit) drop(d *Driver, c *zk.Conn) {
	if a.record != nil && a.record.Number > series.MaxAudit {
		_ = c.Delete(d.paths.recordOf(a.record.Number-series.MaxAudit), -1) // it only takes room: no request reads it
	}
}

func (l *layout) recordOf(number int64) string { return l.audit + "/" + strconv.FormatInt(number, 10) }

// Audit returns the newest n records. Each record is a node; the records of one series are found by
// reading all from the newest on.
func (d *Driver) Audit(ctx context.Context, key string, n int) ([]series.AuditRecord, error) {
	return bounded(ctx, d, "audit", func(c *zk.Conn) ([]series.AuditRecord, error) { return d.records(ctx, c, key, n) }, nil)
}

const recordsAtOnce = 4 * sideBySide

func (d *Driver) records(ctx context.Context, c *zk.Conn, key string, n int) (found []series.AuditRecord, err error) {
	newest, damage, err := d.newest(c)
	if err != nil {
		return nil, err
	}
	if damage != "" {
		found = append(found, series.AuditRecord{Unreadable: damage})
	}
	least := max(0, newest-series.MaxAudit)
	for last := newest; last > least && (n <= 0 || len(found) < n); last -= recordsAtOnce {
		some, err := d.recordsBefore(ctx, c, last, max(least, last-recordsAtOnce))
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			if key == "" || r.Key == key || r.Unreadable != "" { // which may be of any series
				found = append(found, r)
			}
		}
	}
	if n > 0 && len(found) > n {
		found = found[:n]
	}
	slices.Reverse(found)
	return found, nil
}

// newest returns the number of the newest record; 0: there is none. If the node of the audit does not have
// it, the names of the records do, and damage describes that node: the records must stay readable.
func (d *Driver) newest(c *zk.Conn) (last int64, damage string, err error) {
	data, stat, err := c.Get(d.paths.audit)
	if errors.Is(err, zk.ErrNoNode) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", err
	}
	last, bad := newestRecord(data, stat)
	if bad == nil {
		return last, "", nil
	}
	names, _, err := c.Children(d.paths.audit)
	for _, name := range names {
		number, _ := strconv.ParseInt(name, 10, 64)
		last = max(last, number)
	}
	return last, fmt.Sprintf("%s is %v", d.paths.audit, bad), err
}

// recordsBefore reads the records with the numbers from last down to after, without after itself.
func (d *Driver) recordsBefore(ctx context.Context, c *zk.Conn, last, after int64) ([]series.AuditRecord, error) {
	texts, errs := make([]string, last-after), make([]error, last-after)
	var kept []string
	parallel(len(texts), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			var data []byte
			data, _, errs[i] = c.Get(d.paths.recordOf(last - int64(i)))
			texts[i] = string(data)
		}
	})
	for i, err := range errs {
		switch {
		case err == nil:
			kept = append(kept, texts[i])
		case !errors.Is(err, zk.ErrNoNode): // otherwise a later change has removed the record
			return nil, err
		}
	}
	return series.ReadRecords(kept), nil
}
