package zklock

import (
	"strings"
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

const hexDigits = "0123456789ABCDEF"

// escape writes s as the name of a node, with nothing but [A-Za-z0-9._~:%-] in
// it: every other byte becomes %XX. Two texts never have one escape.
func escape(s string) string {
	if strings.Trim(s, ".") == "" { // . and .. are no names
		return strings.Repeat("%2E", len(s))
	}
	b := make([]byte, 0, len(s)+8)
	for i := range len(s) {
		if c := s[i]; plainByte(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(b)
}

func plainByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("._~:-", c) >= 0
}

// unescape undoes escape, and reports whether s can have come from it.
func unescape(s string) (string, bool) {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		hi, lo := strings.IndexByte(hexDigits, s[i+1]), strings.IndexByte(hexDigits, s[i+2])
		if hi < 0 || lo < 0 {
			return "", false
		}
		b = append(b, byte(hi<<4|lo))
		i += 2
	}
	return string(b), escape(string(b)) == s
}
