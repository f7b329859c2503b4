package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock"
)

// Beat tells that node lives for ttl more: its ephemeral node holds the ttl, and
// was written at the time of the beat. A node whose session ended is forgotten
// with it.
func (d *Driver) Beat(ctx context.Context, node string, ttl time.Duration) (lock.Pulse, error) {
	if err := lock.CheckBeat(node, ttl); err != nil {
		return lock.Pulse{}, err
	}
	return bounded(ctx, d, "beat", func(c *zk.Conn) (lock.Pulse, error) { return d.beat(c, node, ttl) }, nil)
}

func (d *Driver) beat(c *zk.Conn, node string, ttl time.Duration) (lock.Pulse, error) {
	sent := time.Now()
	ms, err := d.write(c, d.paths.nodes+"/"+escape(node), strconv.AppendInt(nil, ttl.Milliseconds(), 10))
	if err != nil {
		return lock.Pulse{}, err
	}
	p := lock.Pulse{Readings: []lock.Reading{d.reading(ms, sent)}}
	names, _, err := c.Children(d.paths.nodes)
	if err != nil {
		return lock.Pulse{}, err
	}
	alive, errs := make([]bool, len(names)), make([]error, len(names))
	parallel(len(names), func(i int) { alive[i], errs[i] = d.lives(c, names[i], ms) })
	for i, name := range names {
		if n, ok := unescape(name); ok && alive[i] {
			p.Nodes = append(p.Nodes, n)
		}
	}
	slices.Sort(p.Nodes)
	return p, errors.Join(errs...)
}

// write writes the node of a member, which is this session's, and returns when.
func (d *Driver) write(c *zk.Conn, path string, data []byte) (ms int64, err error) {
	for range tries {
		session := c.SessionID()
		stat, err := c.Set(path, data, -1)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			err = d.within(c, d.paths.nodes, func() error {
				_, err := c.Create(path, data, zk.FlagEphemeral, d.options.ACL)
				return err
			})
			if err != nil && !errors.Is(err, zk.ErrNodeExists) {
				return 0, err
			}
		case err != nil:
			return 0, err
		case stat.EphemeralOwner != session: // it would go with that one
			if _, err := gone(c.Delete(path, stat.Version)); err != nil && !errors.Is(err, zk.ErrBadVersion) {
				return 0, err
			}
		default:
			d.clock.saw(stat.Mtime)
			return stat.Mtime, nil
		}
	}
	return 0, errRestless
}

// lives reports whether a member has beaten within its time.
func (d *Driver) lives(c *zk.Conn, name string, ms int64) (bool, error) {
	data, stat, err := c.Get(d.paths.nodes + "/" + name)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ttl, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return false, fmt.Errorf("%s/%s holds %q: %w", d.paths.nodes, name, data, err)
	}
	return ms < stat.Mtime+ttl, nil
}

// Leave takes node off the list.
func (d *Driver) Leave(ctx context.Context, node string) error {
	if err := lock.CheckName("node", node); err != nil {
		return err
	}
	_, err := bounded(ctx, d, "leave", func(c *zk.Conn) (bool, error) {
		return gone(c.Delete(d.paths.nodes+"/"+escape(node), -1))
	}, nil)
	return err
}
