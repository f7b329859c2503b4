package sqllock

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/cronce/cronce/lock"
)

// Now reads the clock of the database. The reading's Server is the address or
// the host name and the port by which PostgreSQL or MySQL knows itself.
func (d *Driver) Now(ctx context.Context) ([]lock.Reading, error) {
	var us int64
	r := lock.Reading{Sent: time.Now()}
	_, err := ask(ctx, d, func(s session) (none, error) {
		return none{}, s.QueryRowContext(ctx, d.texts.now).Scan((*instant)(&us), &r.Server)
	})
	if err != nil {
		return nil, failed("now", err)
	}
	r.Time, r.Received = time.UnixMicro(us), time.Now()
	return []lock.Reading{r}, nil
}

// clock reads the clock.
func (d *Driver) clock(ctx context.Context) (us int64, err error) {
	rs, err := d.Now(ctx)
	if err != nil {
		return 0, err
	}
	return rs[0].Time.UnixMicro(), nil
}

// Beat records that node lives for ttl more, with two statements.
func (d *Driver) Beat(ctx context.Context, node string, ttl time.Duration) (lock.Pulse, error) {
	if err := lock.CheckBeat(node, ttl); err != nil {
		return lock.Pulse{}, err
	}
	_, err := ask(ctx, d, func(s session) (int64, error) { return exec(ctx, s, d.texts.beat, d.ns, node, micros(ttl)) })
	if err != nil {
		return lock.Pulse{}, failed("beat", err)
	}
	p, err := ask(ctx, d, func(s session) (lock.Pulse, error) { return d.pulse(ctx, s) })
	if err == nil && !slices.Contains(p.Nodes, node) { // there are too many
		p.Nodes = append(p.Nodes[:min(len(p.Nodes), lock.MaxNodes-1)], node)
	}
	slices.Sort(p.Nodes)
	d.sweep()
	return p, failed("beat", err)
}

// Members reads the list of nodes and changes nothing.
func (d *Driver) Members(ctx context.Context) (lock.Roll, error) {
	us, err := d.clock(ctx)
	if err != nil {
		return lock.Roll{}, err
	}
	roll := lock.Roll{Now: us / 1000}
	all, err := ask(ctx, d, func(s session) ([]lock.Member, error) { return d.members(ctx, s) })
	roll.Members = lock.LatestMembers(all, roll.Now)
	return roll, failed("members", err)
}

func (d *Driver) members(ctx context.Context, s session) (all []lock.Member, err error) {
	rows, err := s.QueryContext(ctx, d.texts.members, d.ns)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m lock.Member
		var us int64
		if err := rows.Scan(&m.Node, &us); err != nil {
			return nil, err
		}
		if lock.CheckName("node", m.Node) == nil {
			m.Until, m.Left = max(0, us/1000), max(0, -us/1000)
			all = append(all, m)
		}
	}
	return all, rows.Err()
}

func (d *Driver) pulse(ctx context.Context, s session) (lock.Pulse, error) {
	var p lock.Pulse
	var us int64
	r := lock.Reading{Sent: time.Now()}
	rows, err := s.QueryContext(ctx, d.texts.nodes, d.ns)
	if err != nil {
		return p, err
	}
	defer rows.Close()
	for rows.Next() {
		var node sql.NullString
		if err := rows.Scan((*instant)(&us), &r.Server, &node); err != nil {
			return p, err
		}
		if node.Valid && lock.CheckName("node", node.String) == nil {
			p.Nodes = append(p.Nodes, node.String)
		}
	}
	r.Time, r.Received = time.UnixMicro(us), time.Now()
	p.Readings = []lock.Reading{r}
	return p, rows.Err()
}

// Leave takes node off the list of those that live, and records when it left.
func (d *Driver) Leave(ctx context.Context, node string) error {
	if err := lock.CheckName("node", node); err != nil {
		return err
	}
	_, err := ask(ctx, d, func(s session) (int64, error) { return exec(ctx, s, d.texts.quit, d.ns, node) })
	return failed("leave", err)
}
