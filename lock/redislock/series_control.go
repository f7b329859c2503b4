package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var controls = operation[series.Control, series.ControlAnswer]{
	name:   "control",
	script: func(s *scripts) *script { return s.control },
	key:    func(c *series.Control) string { return c.Key },
	begin: func(d *Driver, r *request) {
		beginVerdicts(d, r)
		r.text(d.keys.runs)
	},
	add: func(r *request, name string, c *series.Control) {
		r.key("s:", name)
		r.key("j:", name)
		r.key("t:", name)
		r.key("au", "")
		r.text(string(c.Action))
		r.escaped(c.Op)
		r.text(c.Body())
		r.number(c.Seen)
		r.escaped(c.Who, c.Reason)
		r.number(c.Until)
		r.text(name)
		r.number(series.MaxAudit, series.KeptOps, c.Due)
		r.text(c.Revision)
		r.number(c.Number, c.Fence)
		anyway := int64(0)
		if c.Anyway {
			anyway = 1
		}
		r.number(int64(c.Overlap), anyway, series.MaxRequested)
		rest, last := series.Backfill{Numbers: c.Numbers, Room: c.Room}, int64(0)
		if n := len(c.Numbers); n > 0 {
			last = c.Numbers[n-1]
		}
		r.text(rest.String())
		r.number(last, int64(len(c.Numbers)))
		r.text(c.Scope)
	},
	read:  readControl,
	doubt: func(_ *series.Control, err error) series.ControlAnswer { return series.ControlAnswer{Err: err} },
	want:  func(c *series.Control) (int, time.Duration) { return c.Replicas, ackedWithin },
}

// ackedWithin is used as the TTL of a lease, which bounds the wait for replicas: see ackTime.
const ackedWithin = 30 * time.Second

// Control implements [series.Controlled]. It works on a server at maxmemory.
func (d *Driver) Control(ctx context.Context, c series.Control) series.ControlAnswer {
	qs, answers := []series.Control{c}, make([]series.ControlAnswer, 1)
	for _, p := range controls.split(d, qs) {
		s := controls.serve(ctx, d, p, qs, answers)
		if err := s.short(c.Key, c.Replicas); err != nil && answers[0].Err == nil {
			answers[0] = series.ControlAnswer{Err: fmt.Errorf("redislock: control: %w", err)}
		}
	}
	return answers[0]
}

const (
	idleCancels = time.Minute      // after which a subscription without messages is probed
	cancelReply = 10 * time.Second // within which its server answers
)

// NotifyRuns implements [series.RunNotifier] with one subscription. It returns the error of a
// connection that breaks. An idle subscription costs one request a minute. It also gets the groups of [Driver.KeepDecided].
func (d *Driver) NotifyRuns(ctx context.Context, notify func(key string)) error {
	sub := d.client.Subscribe(ctx)
	defer sub.Close()
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() }) // ends a read, which does not respect ctx
	defer stop()
	err := sub.Subscribe(ctx, d.keys.runs)
	for patience := cancelReply; err == nil; {
		var message any
		message, err = sub.ReceiveTimeout(ctx, patience)
		late, is := errors.AsType[net.Error](err)
		switch m, published := message.(*redis.Message); {
		case is && late.Timeout() && patience == idleCancels:
			patience, err = cancelReply, sub.Ping(ctx)
		case err != nil:
		default:
			patience = idleCancels
			if !published {
				break
			}
			if group, is := strings.CutPrefix(m.Payload, groupNotice); is {
				d.groups.add(group, time.Now())
			} else if key, ok := driver.Unescape(m.Payload); ok {
				notify(key)
			}
		}
	}
	return fmt.Errorf("redislock: notices of runs: %w", cmp.Or(ctx.Err(), err))
}

// readControl reads kind|refusal|change|audit|number # action|op|who|reason|ms # the series.
func readControl(now instant, text string, c *series.Control) (series.ControlAnswer, bool) {
	head, rest, some := strings.Cut(text, "#")
	latest, state, more := strings.Cut(rest, "#")
	f := fields{rest: head}
	kind := f.letter(f.text())
	a := series.ControlAnswer{Made: kind == 'd', Refusal: series.Refusal(f.text())}
	a.Change, a.Audit, a.Number = f.count(f.text()), f.count(f.text()), f.count(f.end())
	l := fields{rest: latest}
	a.Latest = series.Change{Action: series.Action(l.text()), Op: l.raw(l.text()), Who: l.raw(l.text()), Reason: l.raw(l.text()), At: l.count(l.end())}
	var ok bool
	a.Series, ok = readSeries(now, state, c.Key)
	refused := kind == 'n'
	known := refused || a.Made || kind == 'r'
	return a, ok && some && more && !f.bad && !l.bad && known && refused == (a.Refusal != "") && refused == (a.Change == 0)
}

// Audit implements [series.Controlled].
func (d *Driver) Audit(ctx context.Context, key string, n int) ([]series.AuditRecord, error) {
	partitions := make([]int, 0, len(d.keys.partitions))
	if key != "" {
		partitions = append(partitions, d.keys.partition(key))
	} else {
		for partition := range d.keys.partitions {
			partitions = append(partitions, partition)
		}
	}
	kept := make([][]series.AuditRecord, len(partitions))
	for i, partition := range partitions {
		some, err := d.partitionAudit(ctx, partition, key, n)
		if err != nil {
			return nil, fmt.Errorf("redislock: audit: %w", err)
		}
		kept[i] = some
	}
	all := byInstant(kept)
	if n > 0 && len(all) > n {
		all = all[len(all)-n:]
	}
	return all, nil
}

// byInstant returns the records of several partitions in the order of their instants. The records of
// one partition stay in the order of their numbers, even if the clock of their server was put back
// between them.
func byInstant(partitions [][]series.AuditRecord) (all []series.AuditRecord) {
	for {
		partitions = slices.DeleteFunc(partitions, func(left []series.AuditRecord) bool { return len(left) == 0 })
		if len(partitions) == 0 {
			return all
		}
		first := 0
		for i := range partitions {
			if partitions[i][0].At < partitions[first][0].At {
				first = i
			}
		}
		all = append(all, partitions[first][0])
		partitions[first] = partitions[first][1:]
	}
}

// auditPage is how many records one request reads.
const auditPage = 500

// partitionAudit reads the newest n records of a partition, in pages from the newest on. A record that is
// pushed meanwhile shifts the pages; the records that come twice are read once.
func (d *Driver) partitionAudit(ctx context.Context, partition int, key string, n int) (found []series.AuditRecord, err error) {
	least := int64(0) // the lowest number that was read
	for from := 0; n <= 0 || len(found) < n; from += auditPage {
		var page *redis.StringSliceCmd
		_, err := bounded(ctx, d.prompt, func() ([]string, error) {
			page = d.client.LRange(ctx, d.keys.partitions[partition]+"au", int64(-from-auditPage), int64(-from-1))
			return page.Result()
		})
		if err != nil {
			return nil, err
		}
		for _, text := range slices.Backward(page.Val()) {
			r := readRecord(partition, text)
			if least != 0 && r.Number >= least {
				continue
			}
			if r.Number != 0 {
				least = r.Number
			}
			of := key == "" || r.Key == key || r.Unreadable != "" // which may be of any series
			if of && (n <= 0 || len(found) < n) {
				found = append(found, r)
			}
		}
		if len(page.Val()) < auditPage {
			break
		}
	}
	slices.Reverse(found)
	return found, nil
}

// readRecord reads number|µs|who|action|series|change|before|after|reason|op.
func readRecord(partition int, text string) series.AuditRecord {
	f := fields{rest: text}
	r := series.AuditRecord{Partition: partition, Number: f.count(f.text()), At: f.count(f.text()), Who: f.raw(f.text()), Action: series.Action(f.text())}
	r.Key, r.Change = f.raw(f.text()), f.count(f.text())
	r.Before, r.After = f.text(), f.text()
	r.Reason, r.Op = f.raw(f.text()), f.raw(f.end())
	if f.bad || r.Number == 0 {
		return series.AuditRecord{Partition: partition, Unreadable: driver.Quote(text)}
	}
	return r
}
