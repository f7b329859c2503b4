package redislock_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// For a user with the minimal rights, readings name the process that answered, which is another
// after a restart. For a user without INFO they name none, which is no error.
func TestReadingsNameTheProcess(t *testing.T) {
	s := redisserver.Start(t)
	seen := map[string]bool{}
	for range 2 {
		d := newDriver(t, restricted(t, client(t, s.Addr()), "cronce"), redislock.Options{})
		process := answering(t, d)
		if process == "" || seen[process] {
			t.Errorf("the process is %q after %v", process, seen)
		}
		seen[process] = true
		s.Restart()
	}
	d := newDriver(t, restricted(t, client(t, s.Addr()), "cronce", "-info"), redislock.Options{})
	if process := answering(t, d); process != "" {
		t.Errorf("the process is %q to a user who may not ask", process)
	}
}

// answering is the process that readings and beats name alike.
func answering(t *testing.T, d *redislock.Driver) string {
	t.Helper()
	rs, err := d.Now(t.Context())
	must(t, err)
	p, err := d.Beat(t.Context(), series.Beat{Node: "node", TTL: time.Minute})
	must(t, err)
	if len(rs) != 1 || len(p.Readings) != 1 || len(p.Nodes) != 1 || p.Readings[0].Process != rs[0].Process || p.Nodes[0] != "node" {
		t.Fatalf("the readings are %+v, the pulse %+v", rs, p)
	}
	return rs[0].Process
}
