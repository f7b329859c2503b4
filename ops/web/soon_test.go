package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// The ticks that come first are in order, and no pause covers them: a pause whose end has passed stays on record until
// the next tick is claimed.
func TestSoonest(t *testing.T) {
	s := &ops.Snapshot{AsOf: drawnAt}
	for _, of := range []struct {
		name, spec string
		pause      time.Duration // until when it is paused; 0: it is not
	}{{"later", "@every 1h", 0}, {"a", "@every 2m", 0}, {"over", "@every 4m", -time.Second}, {"b", "@every 3m", 0}, {"ends", "@every 5m", time.Minute}, {"paused", "@every 1m", time.Hour}} {
		j := jobOf(t, of.spec)
		j.Name = of.name
		if of.pause != 0 {
			j.Series = series.Series{Paused: true, Pause: series.Pause{Until: drawnAt.Add(of.pause).UnixMilli()}}
		}
		s.Jobs = append(s.Jobs, j)
	}
	var got []string
	for _, next := range soonest(s, 4) {
		got = append(got, fmt.Sprint(next.Job.Name, " ", next.At.Sub(drawnAt)))
	}
	if want := "b 1m0s, a 2m0s, over 2m0s, ends 3m0s"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}
