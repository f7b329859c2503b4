package zklock_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/zklock"
)

// A before is a connection that calls a function before it sends a request to write a node whose
// path contains a name.
type before struct {
	net.Conn
	name string
	call func()
}

func (c *before) Write(b []byte) (int, error) {
	const setData = 5
	// A request is its length, its number, its operation, and the path.
	if len(b) >= 12 && binary.BigEndian.Uint32(b[8:]) == setData && bytes.Contains(b, []byte(c.name)) {
		c.call()
	}
	return c.Conn.Write(b)
}

// Two nodes open a series with different revisions, and the second has written its own when the first
// is about to write: the first reads again, and both revisions are in the journal.
func TestRevisionsOfTwoNodesAtOnce(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	other := newDriver(t, addr, zklock.Options{Session: time.Minute})
	opens := func(d *zklock.Driver, revision string) {
		if err := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n", Revision: revision}})[0].Err; err != nil {
			t.Errorf("opened with %s: %v", revision, err)
		}
	}
	opens(other, "r1") // creates the node
	var once sync.Once
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, address, timeout)
		return &before{c, "/revisions", func() { once.Do(func() { opens(other, "r2") }) }}, err
	}
	opens(newDriver(t, addr, zklock.Options{Session: time.Minute, Dial: dial}), "r3")
	j, err := other.Journal(t.Context(), "job", 0)
	must(t, err)
	seen := map[string]bool{}
	for _, u := range j.Revisions {
		seen[u.Revision] = true
	}
	if len(seen) != 3 || !seen["r1"] || !seen["r2"] || !seen["r3"] {
		t.Errorf("the revisions are %+v, want r1, r2 and r3", j.Revisions)
	}
}
