package proof

import (
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// A tick that the cap of a backlog spent is explained by a standstill of the machine that was as
// long as the backlog, and by nothing shorter or later; nor is another verdict, or another policy's tick.
func TestCapNeedsAStandstill(t *testing.T) {
	tick := time.UnixMilli(1_800_000_000_000)
	misfire := fate{verdict: series.VerdictMissed, reason: series.ReasonMisfire}
	for name, c := range map[string]struct {
		misfire scheduler.Misfire
		f       fate
		from    time.Duration // of the standstill, after the tick
		stood   time.Duration
		want    bool
	}{
		"no standstill":        {scheduler.MisfireAll, misfire, 0, 0, false},
		"ten intervals":        {scheduler.MisfireAll, misfire, -time.Second, 20 * time.Second, true},
		"just long enough":     {scheduler.MisfireAll, misfire, 0, 15 * time.Second, true},
		"not long enough":      {scheduler.MisfireAll, misfire, 0, 15*time.Second - 1, false},
		"after the tick's end": {scheduler.MisfireAll, misfire, 20 * time.Second, 20 * time.Second, false},
		"before the tick":      {scheduler.MisfireAll, misfire, -20 * time.Second, 20 * time.Second, false},
		"its deadline":         {scheduler.MisfireAll, fate{verdict: series.VerdictMissed, reason: series.ReasonDeadline}, 0, 20 * time.Second, false},
		"another verdict":      {scheduler.MisfireAll, fate{verdict: series.VerdictSkipped, reason: series.ReasonMisfire}, 0, 20 * time.Second, false},
		"another policy":       {scheduler.MisfireOnce, misfire, 0, 20 * time.Second, false},
	} {
		m := &rig.Meter{}
		m.Waited(tick.Add(c.from), c.stood)
		k := &check{Evidence: &Evidence{Meter: m}}
		if got := k.capped(&Job{Name: "job", Every: 2 * time.Second, Misfire: c.misfire}, tick.UnixMilli(), &c.f); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A job whose only node was killed has overdue ticks while another node lives: the end of the
// scenario finds them, and none of the job that has a node.
func TestLateIsFound(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Member)
	kept, left := Job{Name: "kept", Every: time.Second}, Job{Name: "left", Every: time.Second, Deadline: time.Second}
	c.Start(Node{Name: "n0", Jobs: []Job{kept}})
	victim := c.Start(Node{Name: "n1", Jobs: []Job{left}})
	c.Warm(kept, left)
	victim.Kill()
	c.Pass(left.Every + left.Deadline + lateGrace + time.Second)
	e := c.Finish(kept, left)
	if len(e.Late["left"]) == 0 || len(e.Late["kept"]) > 0 {
		t.Errorf("overdue: %+v", e.Late)
	}
	found := 0
	for _, v := range Check(e) {
		if v.Rule == Overdue && v.Job == "left" {
			found++
		}
	}
	if found != len(e.Late["left"]) {
		t.Errorf("%d violations of %d late ranges", found, len(e.Late["left"]))
	}
}
