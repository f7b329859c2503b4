package sqllock

import (
	"context"
	"math"
	"slices"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// keptNodes is how many nodes of each span are kept.
const keptNodes = 10000

// A span is a part of the list of nodes at an instant: the nodes whose times, in µs, are in (from,
// to]. The time of a node is the time until which it lives or, negated, the time at which it left.
// If last is set, the nodes with the latest times come first.
type span struct {
	from, to int64
	most     int // how many of them one answer contains
	last     bool
}

// spans returns the parts of the list that count at an instant. In each part the nodes whose times
// are nearest to that instant come first, so that times that no node has written do not displace a
// node that beats.
func spans(us int64) [4]span {
	over, latest := us-micros(series.GoneFor), us+micros(driver.MaxTTL)
	return [4]span{
		{from: us, to: latest, most: series.MaxNodes},                      // nodes that live
		{from: over, to: us, most: series.MaxGone, last: true},             // nodes that fell silent
		{from: -us - 1, to: -over - 1, most: series.MaxGone},               // nodes that left
		{from: -latest - 1, to: -us - 1, most: series.MaxGone, last: true}, // nodes that left later than now: the clock stepped back
	}
}

// Beat records that the node lives for another TTL. It takes three statements.
func (d *Driver) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	_, err := withSession(ctx, d, func(s session) (int64, error) {
		return exec(ctx, s, d.texts.beat, d.ns, b.Node, micros(b.TTL), b.Ahead.Milliseconds())
	})
	if err != nil {
		return series.BeatAnswer{}, failed("beat", err)
	}
	p, err := withSession(ctx, d, func(s session) (series.BeatAnswer, error) { return d.answerBeat(ctx, s) })
	if !slices.Contains(p.Nodes, b.Node) { // the node is not listed: there are too many
		p.Nodes = append(p.Nodes[:min(len(p.Nodes), series.MaxNodes-1)], b.Node)
	}
	slices.Sort(p.Nodes)
	d.sweep()
	return p, failed("beat", err)
}

func (d *Driver) answerBeat(ctx context.Context, s session) (series.BeatAnswer, error) {
	r, err := d.reading(ctx, s)
	if err != nil {
		return series.BeatAnswer{}, err
	}
	p := series.BeatAnswer{Readings: []driver.ClockReading{r}}
	living, err := d.nodes(ctx, s, spans(r.Time.UnixMicro())[0])
	for _, m := range living {
		p.Nodes = append(p.Nodes, m.Node)
	}
	return p, err
}

// Members reads the list of nodes and changes nothing.
func (d *Driver) Members(ctx context.Context) (series.MemberList, error) {
	roll, err := withSession(ctx, d, func(s session) (roll series.MemberList, err error) {
		r, err := d.reading(ctx, s)
		if err != nil {
			return roll, err
		}
		roll.Now = r.Time.UnixMilli()
		for _, part := range spans(r.Time.UnixMicro()) {
			some, err := d.nodes(ctx, s, part)
			if err != nil {
				return roll, err
			}
			roll.Members = append(roll.Members, some...)
		}
		return roll, nil
	})
	roll.Trim()
	return roll, failed("members", err)
}

// nodes reads the first nodes of a span.
func (d *Driver) nodes(ctx context.Context, s session, of span) (all []series.Member, err error) {
	err = d.each(ctx, s, of, of.most, 0, func(node string, us int64, ahead *int64) {
		if driver.CheckName("node", node) == nil {
			all = append(all, series.Member{Node: node, Until: max(0, us/1000), Left: max(0, -us/1000), Ahead: ahead})
		}
	})
	return all, err
}

// each calls f with nodes of a span, in its order, with their times, and how many ms their clocks are ahead.
func (d *Driver) each(ctx context.Context, s session, of span, most, behind int, f func(node string, us int64, ahead *int64)) error {
	text := d.texts.next
	if of.last {
		text = d.texts.last
	}
	rows, err := s.QueryContext(ctx, text, d.ns, of.from, of.to, most, behind)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var node string
		var us int64
		var ahead *int64
		if err := rows.Scan(&node, &us, &ahead); err != nil {
			return err
		}
		f(node, us, ahead)
	}
	return rows.Err()
}

// Leave removes the node from the list of living nodes, and records when it left.
func (d *Driver) Leave(ctx context.Context, node string) error {
	_, err := withSession(ctx, d, func(s session) (int64, error) { return exec(ctx, s, d.texts.quit, d.ns, node) })
	return failed("leave", err)
}

// sweepNodes removes the nodes that left or fell silent long ago, nodes with times that no beat can
// have written, and those beyond keptNodes in each span.
func (d *Driver) sweepNodes(ctx context.Context) error {
	us, err := d.clock(ctx)
	if err != nil {
		return err
	}
	over, latest := us-micros(series.GoneFor), us+micros(driver.MaxTTL)
	for _, dead := range [][2]int64{{-over, over}, {latest + 1, math.MaxInt64}, {math.MinInt64, -latest - 1}} {
		if err := d.sweepTimes(ctx, dead[0], dead[1]); err != nil {
			return err
		}
	}
	for _, part := range spans(us) {
		if err := d.sweepCrowd(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// sweepCrowd removes the nodes of a span beyond the first keptNodes.
func (d *Driver) sweepCrowd(ctx context.Context, of span) error {
	first, last := of.to+1, of.to
	if of.last {
		first, last = of.from+1, of.from
	}
	_, err := withSession(ctx, d, func(s session) (none, error) {
		return none{}, d.each(ctx, s, of, 1, d.keptNodes, func(_ string, us int64, _ *int64) {
			if of.last {
				last = us
			} else {
				first = us
			}
		})
	})
	if err != nil || first > last {
		return err
	}
	return d.sweepTimes(ctx, first, last)
}

// sweepTimes removes the nodes whose times are from first to last.
func (d *Driver) sweepTimes(ctx context.Context, first, last int64) error {
	return d.sweepRows(ctx, d.texts.within, func(int64) []any { return []any{first, last} },
		func(s session, nodes []any) error {
			return d.remove(ctx, s, "cronce_nodes WHERE ns = ? AND node", nodes)
		})
}
