package series_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
)

type lines []series.Line

func (l *lines) Append(line series.Line) { *l = append(*l, line) }

// A run was given back while another one, beside which it ran, is still alive: a fresh number is judged by
// the alive run. Offering the run that was given back would be in vain, since it cannot be taken over
// before that has ended.
func TestOrphanBehindAnAliveRunIsNotOffered(t *testing.T) {
	var s series.State
	var w lines
	ask := func(us int64, c series.Claim) series.Answer {
		c.Key, c.TTL, c.Deadline, c.Attempts = "k", 30*time.Second, time.Minute, 3
		c.Latest = us / 1000
		return s.Claim(us, &c, &w)
	}
	s.Open(1_000_000, &series.OpenRequest{Key: "k"}, &w)
	first := ask(2_000_000, series.Claim{Owner: "a/1", Number: 2000, After: 1000})
	if a := ask(3_000_000, series.Claim{Owner: "b/1", Number: 3000, After: 2000, Overlap: series.OverlapAllow}); a.Kind != series.KindGranted {
		t.Fatalf("the number beside it: %v, want granted", a.Kind)
	}
	s.Release(3_100_000, &series.EndRequest{RunRef: series.RunRef{Key: "k", Number: 2000, Owner: "a/1", Fence: first.Fence}, State: series.RunGivenBack}, &w)
	if a := ask(4_000_000, series.Claim{Owner: "c/1", Number: 4000, After: 3000, Overlap: series.OverlapQueue}); a.Kind != series.KindWaiting {
		t.Errorf("a fresh number behind an alive run: %v, want waiting", a.Kind)
	}
}
