package proof_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/test/proof"
)

// One node is a day ahead, one a day behind, and for a while there is one from ten
// years ahead. They run their share like any other and nothing changes but that
// each of them is warned about.
func TestClocks(t *testing.T) {
	t.Parallel()
	both(t, clocks)
}

func clocks(t *testing.T, p proof.Program) {
	const day, decade = 24 * time.Hour, 10 * 365 * 24 * time.Hour
	c := proof.NewCluster(t, p)
	jobs := append(seconds("quick", 10), proof.Job{Name: "slow", Every: 2 * time.Second, Work: time.Second})
	var odd []*proof.Process
	for _, offset := range []time.Duration{0, day, -day} {
		odd = append(odd, c.Start(proof.Node{Name: fmt.Sprintf("n%.0f", offset.Hours()+day.Hours()), Jobs: jobs, Offset: offset}))
	}
	c.Warm(jobs...)
	c.Pass(running() / 3)
	future := c.Start(proof.Node{Name: "future", Jobs: jobs, Offset: decade})
	odd = append(odd, future)
	c.Must("the node from the future takes part", func(v proof.View) bool { return len(v.Find(isStart, by(future.Pid))) > 0 })
	c.Pass(running() / 3)
	future.Terminate()
	if err := future.Wait(patience); err != nil {
		t.Error(err)
	}
	c.Pass(running() / 3)
	e := c.Finish(jobs...)
	acquit(t, e)
	for _, p := range odd {
		wantClock(t, e, p)
	}
}

// wantClock: the node took part, and was warned about if its clock was wrong.
func wantClock(t *testing.T, e *proof.Evidence, p *proof.Process) {
	t.Helper()
	if len(e.Find(isStart, by(p.Pid))) == 0 {
		t.Errorf("%s ran nothing", p.Node.Name)
	}
	want := 0
	if p.Node.Offset != 0 {
		want = 1
	}
	off := func(l *proof.Line) bool {
		return l.Pid == p.Pid && (l.Float("offset_ms")-float64(p.Node.Offset.Milliseconds())) < 1000 &&
			l.Level == "warn" && l.Float("offset_ms")-float64(p.Node.Offset.Milliseconds()) > -1000
	}
	if n := e.Say("clock offset", off); n != want {
		t.Errorf("%s was warned about %d times, want %d", p.Node.Name, n, want)
	}
	if n := e.Say("clock offset", func(l *proof.Line) bool { return l.Pid == p.Pid }); n != want {
		t.Errorf("%s was warned about %d times in all, want %d", p.Node.Name, n, want)
	}
}

const patience = 2 * time.Minute
