package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/metrics"
)

// A node runs one job that succeeds and one that fails, and skips ticks of a third whose run
// takes long. A scrape has the runs by their outcome, the skipped ticks, and what runs.
func TestScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		node, err := scheduler.New(scheduler.Config{Store: memlock.New(memlock.Options{}), Observers: []scheduler.Observer{m}, Concurrency: 5, Jobs: []scheduler.Job{
			{Name: "good", Spec: "@every 1s", Func: func(context.Context, *scheduler.Run) error { return nil }},
			{Name: "bad", Spec: "@every 2s", Func: func(context.Context, *scheduler.Run) error { return errors.New("no such host") }},
			{Name: "long", Spec: "@every 5s", Func: func(ctx context.Context, _ *scheduler.Run) error {
				time.Sleep(7 * time.Second)
				return ctx.Err()
			}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- node.Run(ctx) }()
		time.Sleep(10*time.Second + 500*time.Millisecond)
		const want = `
# HELP cronce_clock_offset_seconds How far this machine's clock is ahead of the store's; absent while that is not known.
# TYPE cronce_clock_offset_seconds gauge
cronce_clock_offset_seconds 0
# HELP cronce_node_ready Whether all parts of the store answer this node, and its timetable moves.
# TYPE cronce_node_ready gauge
cronce_node_ready 1
# HELP cronce_runs_alive Runs of this node that have not ended.
# TYPE cronce_runs_alive gauge
cronce_runs_alive 1
# HELP cronce_runs_total Runs of this node that have ended, by their outcome.
# TYPE cronce_runs_total counter
cronce_runs_total{outcome="cancelled"} 0
cronce_runs_total{outcome="failed"} 5
cronce_runs_total{outcome="interrupted"} 0
cronce_runs_total{outcome="lost"} 0
cronce_runs_total{outcome="ok"} 10
cronce_runs_total{outcome="panic"} 0
cronce_runs_total{outcome="replaced"} 0
cronce_runs_total{outcome="skipped"} 0
cronce_runs_total{outcome="timeout"} 0
# HELP cronce_slots How many runs this node has at once; +Inf: there is no bound.
# TYPE cronce_slots gauge
cronce_slots 5
# HELP cronce_ticks_skipped_total Ticks that this node recorded as skipped, superseded or paused.
# TYPE cronce_ticks_skipped_total counter
cronce_ticks_skipped_total{reason="operator"} 0
cronce_ticks_skipped_total{reason="overlap"} 1
cronce_ticks_skipped_total{reason="paused"} 0
cronce_ticks_skipped_total{reason="superseded"} 0
`
		if err := testutil.CollectAndCompare(m, strings.NewReader(want), "cronce_clock_offset_seconds", "cronce_node_ready", "cronce_runs_alive",
			"cronce_runs_total", "cronce_slots", "cronce_ticks_skipped_total"); err != nil {
			t.Error(err)
		}
		if granted := node.Stats().Claims["granted"]; granted != 16 {
			t.Errorf("%d claims granted, want 16", granted)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A node runs a job for half a minute. A scrape has how many requests of each kind its store
// has answered, and how often the lease of the run was renewed.
func TestRequestsAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		node, err := scheduler.New(scheduler.Config{Store: memlock.New(memlock.Options{}), Observers: []scheduler.Observer{m}, Jobs: []scheduler.Job{
			{Name: "long", Spec: "@every 1m", Lease: 9 * time.Second, Func: func(context.Context, *scheduler.Run) error {
				time.Sleep(29 * time.Second)
				return nil
			}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- node.Run(ctx) }()
		time.Sleep(95 * time.Second)
		exact := map[string]uint64{"renew": 9, "end": 1, "peek": 0, "journal": 0}
		for _, r := range node.Stats().Requests {
			want, is := exact[r.Op]
			if r.Result == "doubt" {
				want, is = 0, true
			}
			if is && r.Count != want {
				t.Errorf("%d requests %s with result %s, want %d", r.Count, r.Op, r.Result, want)
			}
			if asked := r.Op == "claim" || r.Op == "open" || r.Op == "beat"; asked && r.Result == "ok" && r.Count == 0 {
				t.Errorf("no request %s", r.Op)
			}
		}
		const want = `
# HELP cronce_renewals_total Renewals of leases of this node's runs: renewed, lost, or doubt if the store did not answer.
# TYPE cronce_renewals_total counter
cronce_renewals_total{result="doubt"} 0
cronce_renewals_total{result="lost"} 0
cronce_renewals_total{result="renewed"} 9
`
		if err := testutil.CollectAndCompare(m, strings.NewReader(want), "cronce_renewals_total"); err != nil {
			t.Error(err)
		}
		if n := testutil.CollectAndCount(m, "cronce_store_request_seconds"); n != 16 {
			t.Errorf("%d series of requests, want 8 kinds with 2 results", n)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Each kind of event is counted once, in its own metric, and so are those that were dropped.
func TestEventsAreCounted(t *testing.T) {
	for _, tc := range []struct {
		event scheduler.Event
		want  string // of the metrics that are not 0
	}{
		{scheduler.Event{Kind: scheduler.EventRunStarted, Attempt: 1, Late: 20 * time.Millisecond}, "cronce_start_lateness_seconds"},
		{scheduler.Event{Kind: scheduler.EventRunStarted, Attempt: 1, Late: -time.Millisecond}, "cronce_start_lateness_seconds"}, // within the tolerance
		{scheduler.Event{Kind: scheduler.EventRunStarted, Attempt: 2}, "cronce_start_lateness_seconds cronce_takeovers_total"},
		{scheduler.Event{Kind: scheduler.EventRunFinished, Outcome: "panic", Took: time.Second}, "cronce_run_duration_seconds cronce_runs_total{panic}"},
		{scheduler.Event{Kind: scheduler.EventTickFinished, Outcome: "lost", Shards: 3}, "cronce_sharded_ticks_total{lost}"},
		{scheduler.Event{Kind: scheduler.EventTryFailed}, "cronce_tries_failed_total"},
		{scheduler.Event{Kind: scheduler.EventRenewalLate}, "cronce_renewals_late_total"},
		{scheduler.Event{Kind: scheduler.EventLeaseLost}, "cronce_leases_lost_total"},
		{scheduler.Event{Kind: scheduler.EventTickMissed, Count: 1, Reason: "misfire"}, "cronce_ticks_missed_total{misfire}"},
		{scheduler.Event{Kind: scheduler.EventTickSkipped, Reason: "superseded"}, "cronce_ticks_skipped_total{superseded}"},
		{scheduler.Event{Kind: scheduler.EventUnreplicated}, "cronce_claims_unreplicated_total"},
		{scheduler.Event{Kind: scheduler.EventClockStepped}, "cronce_clock_steps_total"},
		{scheduler.Event{Kind: scheduler.EventStoreForgot}, "cronce_store_events_total{store forgot}"},
		{scheduler.Event{Kind: scheduler.EventMarkAhead}, "cronce_store_events_total{mark ahead}"},
		{scheduler.Event{Kind: scheduler.EventNodeStarted, Dropped: 1}, "cronce_events_dropped_total"},
		{scheduler.Event{Kind: "an event of a later version"}, ""},
	} {
		m := measured(t)
		m.Observe(tc.event)
		if got := notZero(t, m); got != tc.want {
			t.Errorf("%s: counted as %q, want %q", tc.event.Kind, got, tc.want)
		}
	}
}

// measured returns the metrics of a node that does not run.
func measured(t *testing.T) *metrics.Metrics {
	t.Helper()
	m := metrics.New()
	if _, err := scheduler.New(scheduler.Config{Store: memlock.New(memlock.Options{}), Observers: []scheduler.Observer{m}}); err != nil {
		t.Fatal(err)
	}
	return m
}

// Metrics cannot be half used: without a node each scrape is an error that says so, and with one
// they take no other. The node of a configuration that was refused is none.
func TestNode(t *testing.T) {
	m := metrics.New()
	config := scheduler.Config{Store: memlock.New(memlock.Options{}), Observers: []scheduler.Observer{m}}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	if _, err := scheduler.New(scheduler.Config{Observers: config.Observers}); err == nil {
		t.Error("a node without a store")
	}
	if _, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), "put them into its Config.Observers") {
		t.Errorf("a scrape without a node: %v", err)
	}
	if _, err := scheduler.New(config); err != nil {
		t.Error(err)
	}
	if _, err := registry.Gather(); err != nil {
		t.Errorf("a scrape with a node: %v", err)
	}
	if n := testutil.CollectAndCount(m, "cronce_clock_offset_seconds"); n != 0 {
		t.Errorf("%d offsets from a clock that is not known", n)
	}
	if _, err := scheduler.New(config); err == nil || !strings.Contains(err.Error(), "observers[0]: metrics: another node has them") {
		t.Errorf("a second node: %v", err)
	}
}

// notZero names what is 1, with its labels.
func notZero(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		for _, s := range f.GetMetric() {
			if s.GetHistogram().GetSampleSum() < 0 {
				t.Errorf("the sum of %s decreases", f.GetName())
			}
			if s.GetCounter().GetValue() != 1 && s.GetHistogram().GetSampleCount() != 1 {
				continue
			}
			name := f.GetName()
			for _, l := range s.GetLabel() {
				name += "{" + l.GetValue() + "}"
			}
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// The names are those of a Prometheus exporter.
func TestNames(t *testing.T) {
	m := measured(t)
	problems, err := testutil.CollectAndLint(m)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// The metrics of a node are its observer and a collector. A job that ran is counted.
func ExampleNew() {
	ctx, stop := context.WithCancel(context.Background())
	m := metrics.New()
	node, err := scheduler.New(scheduler.Config{
		Store:     memlock.New(memlock.Options{}),
		Observers: []scheduler.Observer{m},
		Jobs: []scheduler.Job{{Name: "report", Spec: "* * * * * *", Func: func(context.Context, *scheduler.Run) error {
			stop()
			return nil
		}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	if err := node.Run(ctx); err != nil {
		fmt.Println(err)
	}
	err = testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP cronce_slots How many runs this node has at once; +Inf: there is no bound.
# TYPE cronce_slots gauge
cronce_slots 1000
# HELP cronce_ticks_missed_total Ticks that this node recorded as missed or lost.
# TYPE cronce_ticks_missed_total counter
cronce_ticks_missed_total{reason="deadline"} 0
cronce_ticks_missed_total{reason="lost"} 0
cronce_ticks_missed_total{reason="misfire"} 0
cronce_ticks_missed_total{reason="respecified"} 0
`), "cronce_slots", "cronce_ticks_missed_total")
	fmt.Println(err)
	n, err := testutil.GatherAndCount(registry, "cronce_runs_total")
	fmt.Println(n, "outcomes,", err)
	// Output:
	// <nil>
	// 9 outcomes, <nil>
}
