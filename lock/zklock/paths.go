package zklock

import (
	"strings"

	"github.com/cronce/cronce/lock/driver"
)

// A layout names the nodes of a namespace.
type layout struct {
	root   string // of the namespace and version of the format
	locks  string // of the plain locks
	series string
	nodes  string
	clock  string
	taken  string // what is kept of leases that were taken
}

func newLayout(namespace string) layout {
	root := "/" + namespace + "/v1"
	return layout{root: root, locks: root + "/locks", series: root + "/series", nodes: root + "/nodes", clock: root + "/clock", taken: root + "/taken"}
}

// lock is the parent of the places of a plain lock.
func (l *layout) lock(key string) string { return l.locks + "/" + escape(key) }

// of is the node of a series.
func (l *layout) of(key string) string { return l.series + "/" + escape(key) }

// names escapes the names of nodes, in which there is no slash.
var names = driver.NewEscaping("._~:-")

// escape writes s as the name of a node: see names. Two texts never have one escape.
func escape(s string) string {
	if strings.Trim(s, ".") == "" { // . and .. are no names
		return strings.Repeat("%2E", len(s))
	}
	return names.Escape(s)
}

// unescape undoes escape, and reports whether s can have come from it.
func unescape(s string) (string, bool) {
	text, ok := driver.Unescape(s)
	return text, ok && escape(text) == s
}
