package heartbeat_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/heartbeat"
)

// A node that drains leaves the list at once. From then on it reads the clock every ten seconds, and sends no heartbeat.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		n := newNode(s, "a")
		n.start(t)
		time.Sleep(5 * time.Second)
		n.said(t, "1 nodes, false", "1 nodes, false")
		n.Drain()
		left := time.Now().UnixMilli()
		time.Sleep(time.Millisecond)
		s.lists(t, left)
		time.Sleep(59 * time.Second)
		s.lists(t, left)
		n.early.Raise()
		n.said(t)
		if s.reads != 7 {
			t.Errorf("the node read the clock %d times in a minute, want 7", s.reads)
		}
	})
}

// A heartbeat that was given up reaches the store after the node has left, or a failover loses that it left. The node leaves again.
func TestDrainingNodeThatIsListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		n := newNode(s, "a")
		n.start(t)
		n.Drain()
		left := time.Now().UnixMilli()
		time.Sleep(time.Second)
		if _, err := s.Beat(t.Context(), series.Beat{Node: "a", TTL: series.MemberFor}); err != nil {
			t.Fatal(err)
		}
		s.lists(t, 0)
		time.Sleep(9*time.Second + time.Millisecond)
		s.lists(t, left+heartbeat.Every.Milliseconds())
	})
}

// lists wants the store to list the node alone, as one that left at an instant; 0: it did not.
func (s *server) lists(t *testing.T, left int64) {
	t.Helper()
	if a, err := s.Members(t.Context()); err != nil || len(a.Members) != 1 || a.Members[0].Left != left {
		t.Errorf("the store has %+v (%v), want one node that left at %d", a.Members, err, left)
	}
}

// A node that drains while the store refuses that it leaves tries again every ten seconds, and reports when the store answers.
func TestDrainWhileTheListIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		n := newNode(s, "a", func(c *heartbeat.Config) { c.Health = answers{c.Health} })
		n.start(t)
		n.said(t, "the list is there", "1 nodes, false")
		s.set(func(s *server) { s.fault = errors.New("refused") })
		n.Drain()
		time.Sleep(11 * time.Second)
		n.said(t, "no list: refused", "no list: refused")
		s.set(func(s *server) { s.fault = nil })
		time.Sleep(10 * time.Second)
		n.said(t, "the list is there")
		if a, err := s.Members(t.Context()); err != nil || len(a.Members) != 1 || a.Members[0].Left == 0 {
			t.Errorf("the store has %+v (%v), want one node that left", a.Members, err)
		}
	})
}

// answers reports good answers too.
type answers struct{ heartbeat.Health }

func (a answers) Answered(p health.Part, err error) {
	if a.Health.Answered(p, err); err == nil {
		a.Health.(*node).say("the list is there")
	}
}
