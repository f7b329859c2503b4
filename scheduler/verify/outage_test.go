package verify_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// The latest tick that was due before an instant and is undecided is the end of an outage, if live
// nodes had the time to decide it, and none of them runs the job.
func TestOutage(t *testing.T) {
	const hourly = "0 0 * * * *"
	none := -1.0
	for name, c := range map[string]struct {
		to   func(s *store) // from the epoch on
		at   float64        // seconds
		want float64        // the tick
	}{
		"nothing is due":                 {nil, 9.999, none},
		"a tick, and nodes may claim it": {nil, 11.999, none},
		"nodes had the time to claim it": {nil, 12, 10},
		"several ticks":                  {nil, 47, 40},
		"the mark is there":              {func(s *store) { s.run(policy{}, 20) }, 31.999, none},
		"and later":                      {func(s *store) { s.run(policy{}, 20) }, 32, 30},
		"its jitter is not over":         {func(s *store) { s.sightings[0].Policies = "jitter:7s" }, 28.999, 10},
		"its jitter is over":             {func(s *store) { s.sightings[0].Policies = "jitter:7s" }, 29, 20},
		"a run is alive":                 {func(s *store) { s.now = at(10); s.ask(policy{}, at(10)) }, 12.999, none},
		"runs are alive, side by side": {func(s *store) {
			s.sightings[0].Policies = "overlap:allow"
			s.now = at(29.9)
			s.ask(policy{overlap: series.OverlapAllow}, at(20))
		}, 32.8, none},
		"a backlog waits for the next claim": {func(s *store) {
			s.sightings[0].Policies = "misfire:all"
			s.now = at(25)
			s.ok(s.ask(policy{}, at(20)))
		}, 34.999, none},
		"a backlog that nobody claims": {func(s *store) {
			s.sightings[0].Policies = "misfire:all"
			s.now = at(25)
			s.ok(s.ask(policy{}, at(20)))
		}, 35, 30},
		"commands in crontabs claim": {func(s *store) { s.sightings[0].Policies = "overlap:skip/callers:crontab" }, 47, none},
		"a run is over":              {func(s *store) { s.now = at(10); s.ask(policy{}, at(10)) }, 22.5, 20},
		"a pause":                    {func(s *store) { s.now = at(5); s.change(series.ActionPause, 0) }, 50, none},
		"a pause that has an end, and after it": {func(s *store) {
			s.now = at(5)
			s.change(series.ActionPause, at(35))
		}, 41.999, none},
		"a tick after the end of a pause": {func(s *store) {
			s.now = at(5)
			s.change(series.ActionPause, at(35))
		}, 42, 40},
		"a tick at the end of a pause": {func(s *store) {
			s.now = at(5)
			s.change(series.ActionPause, at(40))
		}, 42, none},
		"the job is retired": {func(s *store) { s.now = at(5); s.change(series.ActionRetire, 0) }, 50, none},
		"a spec that is younger than its tick": {func(s *store) {
			s.now = at(3605)
			s.open(hourly)
		}, 3700, none},
		"the spec in force is rarer": {func(s *store) {
			s.now = at(3595)
			s.open(hourly)
		}, 3700, 3600},
		"the spec cannot be read": {func(s *store) { s.sightings[0].Spec = "?" }, 50, none},
		"no spec is on record":    {func(s *store) { s.sightings = nil }, 50, none},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened()
			if c.to != nil {
				c.to(s)
			}
			s.now = at(c.at)
			state := s.state.Series(s.us(), "job")
			tick, revision := verify.NewJudge(s.journal(), verify.Options{State: &state}).Outage()
			switch {
			case c.want == none:
				if !tick.IsZero() || revision != "" {
					t.Errorf("it is %s of %q, want none", tick.Format(time.RFC3339Nano), revision)
				}
			case tick != instant(at(c.want)) || revision != s.sightings[len(s.sightings)-1].Revision:
				t.Errorf("it is %s of %q, want %s", tick.Format(time.RFC3339Nano), revision, instant(at(c.want)))
			}
			if tick, _ := verify.NewJudge(s.journal(), verify.Options{Now: instant(s.now)}).Outage(); !tick.IsZero() {
				t.Errorf("without the state it is %v", tick)
			}
		})
	}
}
