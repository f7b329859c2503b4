package zklock

import (
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"
)

// ensure creates the nodes above and at path that are missing.
func (d *Driver) ensure(c *zk.Conn, path string) error {
	for i, r := range path + "/" {
		if r != '/' || i == 0 {
			continue
		}
		_, err := c.Create(path[:i], nil, zk.FlagPersistent, d.options.ACL)
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// contain creates the parent of a lock's places. It is a container: the server
// removes it some time after the last place is gone.
func (d *Driver) contain(c *zk.Conn, path string) error {
	err := d.within(c, path[:strings.LastIndexByte(path, '/')], func() error {
		_, err := c.CreateContainer(path, nil, zk.FlagContainer, d.options.ACL)
		return err
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// within does f, and once more after the missing nodes above what it needs were
// created.
func (d *Driver) within(c *zk.Conn, parent string, f func() error) error {
	err := f()
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	if err := d.ensure(c, parent); err != nil {
		return err
	}
	return f()
}
