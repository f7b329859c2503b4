package zklock

import (
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

// A layout names the nodes of a namespace.
type layout struct {
	root   string // the node of the namespace and version of the format
	locks  string // the parent of the plain locks
	series string
	nodes  string
	clock  string
	taken  string // the parent of the records of leases that were taken
	audit  string // its data is the number of the newest record of a control change; the records are below it
}

func newLayout(namespace string) layout {
	root := "/" + namespace + "/v1"
	return layout{root: root, locks: root + "/locks", series: root + "/series", nodes: root + "/nodes", clock: root + "/clock", taken: root + "/taken", audit: root + "/audit"}
}

// lock returns the path of the parent of the places of a plain lock.
func (l *layout) lock(key string) string { return l.locks + "/" + escape(key) }

// of returns the path of the node of a series.
func (l *layout) of(key string) string { return l.series + "/" + escape(key) }

// names escapes the names of nodes, which contain no slash.
var names = driver.NewEscaping("._~:-")

// escape returns s as the name of a node: see names. Two different texts never have the same name.
func escape(s string) string {
	if strings.Trim(s, ".") == "" { // . and .. are not valid names
		return strings.Repeat("%2E", len(s))
	}
	return names.Escape(s)
}

// unescape reverses escape, and reports whether s can be a result of it.
func unescape(s string) (string, bool) {
	text, ok := driver.Unescape(s)
	return text, ok && escape(text) == s
}

// ensure creates the missing nodes of a path.
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

// contain creates the parent of a lock's places. It is a container: the server removes it some time
// after the last place is gone.
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

// within calls f. If a node is missing, it creates the nodes at and above parent, and calls f once
// more.
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
