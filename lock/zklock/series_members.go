package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// Beat records that a node lives for another TTL: its ZooKeeper node holds the TTL and how far its
// clock is ahead, and its modification time is the time of the beat. That node is kept for a day after the last beat.
func (d *Driver) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	return bounded(ctx, d, "beat", func(c *zk.Conn) (series.BeatAnswer, error) { return d.beat(c, b) }, nil)
}

func (d *Driver) beat(c *zk.Conn, b series.Beat) (series.BeatAnswer, error) {
	sent := time.Now()
	ms, err := d.write(c, d.paths.nodes+"/"+escape(b.Node), fmt.Appendf(nil, "%d %d", b.TTL.Milliseconds(), b.Ahead.Milliseconds()))
	if err != nil {
		return series.BeatAnswer{}, err
	}
	p := series.BeatAnswer{Readings: []driver.ClockReading{d.reading(ms, sent)}}
	all, err := d.members(c, ms, true)
	if err != nil {
		return series.BeatAnswer{}, err
	}
	for _, m := range all {
		if m.Alive(ms) {
			p.Nodes = append(p.Nodes, m.Node)
		}
	}
	if !slices.Contains(p.Nodes, b.Node) { // the node is not listed: there are too many
		p.Nodes = append(p.Nodes[:min(len(p.Nodes), series.MaxNodes-1)], b.Node)
		slices.Sort(p.Nodes)
	}
	return p, nil
}

// left is the data of a member that left.
const left = "left"

// maxMembers is how many members one step reads.
const maxMembers = 5000

// write writes the node of a member and returns the time of the write.
func (d *Driver) write(c *zk.Conn, path string, data []byte) (ms int64, err error) {
	for range tries {
		stat, err := c.Set(path, data, -1)
		if err == nil {
			d.clock.observe(stat.Mtime)
			return stat.Mtime, nil
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return 0, err
		}
		err = d.within(c, d.paths.nodes, func() error {
			_, err := c.Create(path, data, zk.FlagPersistent, d.options.ACL)
			return err
		})
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return 0, err
		}
	}
	return 0, errRestless
}

// members reads the members as they are at ms. If tidy is true, it removes members that have been
// gone for a day.
func (d *Driver) members(c *zk.Conn, ms int64, tidy bool) ([]series.Member, error) {
	names, _, err := c.Children(d.paths.nodes)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names = firstNames(names)
	all, errs := make([]series.Member, len(names)), make([]error, len(names))
	parallel(len(names), func(i int) { all[i], errs[i] = d.member(c, names[i], ms, tidy) })
	l := series.MemberList{Now: ms, Members: slices.DeleteFunc(all, func(m series.Member) bool { return m.Node == "" })}
	l.Trim()
	return l.Members, errors.Join(errs...)
}

// firstNames returns the names that one step reads. The server lists them in no particular order.
// If there are too many, each step reads the same ones, and removing the outdated ones among them
// makes room for others.
func firstNames(names []string) []string {
	slices.Sort(names)
	return names[:min(len(names), maxMembers)]
}

// member reads one member. It returns a member without a name if there is none.
func (d *Driver) member(c *zk.Conn, name string, ms int64, tidy bool) (series.Member, error) {
	path := d.paths.nodes + "/" + name
	data, stat, err := c.Get(path)
	if errors.Is(err, zk.ErrNoNode) {
		return series.Member{}, nil
	}
	if err != nil {
		return series.Member{}, err
	}
	m := series.Member{Left: stat.Mtime}
	if string(data) != left {
		lives, offset, _ := strings.Cut(string(data), " ")
		ttl, err := strconv.ParseInt(lives, 10, 64)
		if err != nil || ttl <= 0 || ttl > driver.MaxTTL.Milliseconds() {
			return series.Member{}, nil
		}
		m = series.Member{Until: stat.Mtime + ttl}
		if ahead, err := strconv.ParseInt(offset, 10, 64); err == nil {
			m.Ahead = &ahead
		}
	}
	if over := max(m.Until, m.Left) <= ms-series.GoneFor.Milliseconds(); over && tidy {
		_ = c.Delete(path, stat.Version) // a node that stays only takes room
		return series.Member{}, nil
	}
	node, ok := unescape(name)
	if !ok || driver.CheckName("node", node) != nil {
		return series.Member{}, nil
	}
	m.Node = node
	return m, nil
}

// Leave removes the node from the list of living nodes, and records when it left, unless it has left already.
func (d *Driver) Leave(ctx context.Context, node string) error {
	_, err := bounded(ctx, d, "leave", func(c *zk.Conn) (bool, error) {
		path := d.paths.nodes + "/" + escape(node)
		if data, _, err := c.Get(path); err != nil || string(data) == left {
			return gone(err)
		}
		_, err := c.Set(path, []byte(left), -1)
		return gone(err)
	}, nil)
	return err
}

// Members reads the list of nodes.
func (d *Driver) Members(ctx context.Context) (series.MemberList, error) {
	return bounded(ctx, d, "list the nodes", func(c *zk.Conn) (series.MemberList, error) {
		ms, err := d.tick(c)
		if err != nil {
			return series.MemberList{}, err
		}
		all, err := d.members(c, ms, false)
		return series.MemberList{Now: ms, Members: all}, err
	}, nil)
}
