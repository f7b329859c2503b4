package scheduler_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// Each fault of a job is refused and named with its path.
func TestJobFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path   string // the path of the fault
		change func(j *scheduler.Job)
	}{
		{"jobs[0].name", func(j *scheduler.Job) { j.Name = "" }},
		{"jobs[0].name", func(j *scheduler.Job) { j.Name = "-a" }},
		{"jobs[0].name", func(j *scheduler.Job) { j.Name = "a b" }},
		{"jobs[0].name", func(j *scheduler.Job) { j.Name = strings.Repeat("a", 129) }},
		{"jobs[0].func", func(j *scheduler.Job) { j.Func = nil }},
		{"jobs[0].spec", func(j *scheduler.Job) { j.Spec = "" }},
		{"jobs[0].spec", func(j *scheduler.Job) { j.Spec = "61 * * * *" }},
		{"jobs[0].spec", func(j *scheduler.Job) { j.Spec = "0 0 30 2 *" }}, // never fires
		{"jobs[0].spec", func(j *scheduler.Job) { j.Spec = "@every 500ms" }},
		{"jobs[0].spec", func(j *scheduler.Job) { j.Spec = "CRON_TZ=Nowhere/Town 0 9 * * *" }},
		{"jobs[0].window", func(j *scheduler.Job) { j.Window = -1 }},
		{"jobs[0].deadline", func(j *scheduler.Job) { j.Deadline = -1 }},
		{"jobs[0].timeout", func(j *scheduler.Job) { j.Timeout = -1 }},
		{"jobs[0].jitter", func(j *scheduler.Job) { j.Jitter = -1 }},
		{"jobs[0].retry.wait", func(j *scheduler.Job) { j.Retry.Wait = -1 }},
		{"jobs[0].retry.max", func(j *scheduler.Job) { j.Retry.Max = -1 }},
		{"jobs[0].retry.for", func(j *scheduler.Job) { j.Retry.For = -1 }},
		{"jobs[0].retry.for", func(j *scheduler.Job) { j.Retry = scheduler.Retry{Tries: 2, For: time.Second - 1} }}, // a wait of 1 s by default
		{"jobs[0].retry.jitter", func(j *scheduler.Job) { j.Retry = scheduler.Retry{Tries: 2, Jitter: -.1} }},
		{"jobs[0].retry.jitter", func(j *scheduler.Job) { j.Retry = scheduler.Retry{Tries: 2, Jitter: 1.1} }},
		{"jobs[0].retry.jitter", func(j *scheduler.Job) { j.Retry = scheduler.Retry{Tries: 2, Jitter: math.NaN()} }},
		{"jobs[0].retry.tries", func(j *scheduler.Job) { j.Retry.Tries = 1001 }},
		{"jobs[0].attempts", func(j *scheduler.Job) { j.Attempts = -1 }},
		{"jobs[0].lease", func(j *scheduler.Job) { j.Lease = 499 * time.Millisecond }},
		{"jobs[0].lease", func(j *scheduler.Job) { j.Lease = 25 * time.Hour }},
		{"jobs[0].replicas", func(j *scheduler.Job) { j.Replicas = -1 }},
		{"jobs[0].replicas", func(j *scheduler.Job) { j.Replicas = 1 }}, // the store has none to wait for
		{"jobs[0].overlap", func(j *scheduler.Job) { j.Overlap = 4 }},
		{"jobs[0].misfire", func(j *scheduler.Job) { j.Misfire = 3 }},
		{"jobs[0].takeover", func(j *scheduler.Job) { j.Takeover = 2 }},
		{"jobs[0].interrupted", func(j *scheduler.Job) { j.Interrupted = 2 }},
		{"jobs[0].jitter", func(j *scheduler.Job) { j.Jitter = time.Minute }}, // not below the interval
		// Contradictions.
		{"jobs[0].misfire", func(j *scheduler.Job) { j.Misfire, j.Overlap = scheduler.MisfireAll, scheduler.OverlapQueue }},
		{"jobs[0].misfire", func(j *scheduler.Job) { j.Misfire, j.Overlap = scheduler.MisfireAll, scheduler.OverlapReplace }},
		{"jobs[0].deadline", func(j *scheduler.Job) { j.Misfire, j.Deadline = scheduler.MisfireSkip, time.Minute }},
		{"jobs[0].window", func(j *scheduler.Job) { j.Window, j.Interrupted = time.Minute, scheduler.InterruptedLost }},
		{"jobs[0].attempts", func(j *scheduler.Job) { j.Attempts, j.Interrupted = 3, scheduler.InterruptedLost }},
		{"jobs[0].retry", func(j *scheduler.Job) { j.Retry.Wait = time.Second }}, // between one try and none
		{"jobs[0].retry", func(j *scheduler.Job) { j.Retry.For = time.Minute }},
		{"jobs[0].retry", func(j *scheduler.Job) { j.Retry.Jitter = 1 }},
		{"jobs[0].retry.wait", func(j *scheduler.Job) {
			j.Retry = scheduler.Retry{Tries: 3, Wait: 2 * time.Second, Max: time.Second}
		}},
		{"jobs[0].timeout", func(j *scheduler.Job) { // it ends before the second try
			j.Timeout, j.Retry = time.Minute, scheduler.Retry{Tries: 2, Wait: time.Minute}
		}},
		{"jobs[0].timeout", func(j *scheduler.Job) { j.Timeout, j.Retry.Tries = time.Second, 2 }}, // a wait of 1 s by default
		{"jobs[0].attempts", func(j *scheduler.Job) { j.Takeover, j.Attempts = scheduler.TakeoverRerun, 1 }},
		{"jobs[0].window", func(j *scheduler.Job) { // it ends before the lease does
			j.Takeover, j.Lease, j.Window = scheduler.TakeoverRerun, 5*time.Second, 5*time.Second
		}},
		{"jobs[0].window", func(j *scheduler.Job) { j.Takeover, j.Lease = scheduler.TakeoverRerun, time.Hour }},       // a window of 1 h by default
		{"jobs[0].window", func(j *scheduler.Job) { j.Takeover, j.Window = scheduler.TakeoverRerun, 30*time.Second }}, // a lease of 30 s by default
	} {
		j := scheduler.Job{Name: "a", Spec: "* * * * *", Func: nothing}
		test.change(&j)
		_, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Jobs: []scheduler.Job{j}})
		if err == nil {
			t.Errorf("%s: accepted in %+v", test.path, j)
			continue
		}
		if !strings.Contains(err.Error(), test.path+":") {
			t.Errorf("%s: refused with %v, want the path", test.path, err)
		}
		if n := strings.Count(err.Error(), "jobs[0]"); n != 1 {
			t.Errorf("%s: %d faults in %v, want one", test.path, n, err)
		}
	}
}

// Whether a jitter is below the interval does not depend on the season, even in the weeks before
// clocks go forward and two ticks of one night come close to each other.
func TestJitterInEverySeason(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		for range 53 {
			time.Sleep(7 * 24 * time.Hour)
			for spec, longest := range map[string]time.Duration{"30 2,3 * * *": time.Hour, "@hourly": time.Hour, "0 3 31 3 *": 365 * 24 * time.Hour} {
				j := scheduler.Job{Name: "a", Spec: spec, Func: nothing, Jitter: longest - time.Second}
				if _, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Zone: zone, Jobs: []scheduler.Job{j}}); err != nil {
					t.Errorf("%v: %v", time.Now(), err)
				}
				j.Jitter = longest
				if _, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Zone: zone, Jobs: []scheduler.Job{j}}); err == nil {
					t.Errorf("%v: a jitter of %v is accepted for %s", time.Now(), j.Jitter, spec)
				}
			}
		}
	})
}

// A job whose next ticks are all in a night in which clocks change has the interval of that night.
func TestJitterInTheNight(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2000, 3, 26, 0, 30, 0, 0, time.UTC))) // they change half an hour later
		for jitter, accepted := range map[time.Duration]bool{time.Minute - time.Second: true, time.Minute: false} {
			j := scheduler.Job{Name: "a", Spec: "* * * * *", Func: nothing, Jitter: jitter}
			_, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Zone: zone, Jobs: []scheduler.Job{j}})
			if (err == nil) != accepted {
				t.Errorf("a jitter of %v for a tick a minute: %v", jitter, err)
			}
		}
	})
}

type idleObserver struct{}

func (*idleObserver) Observe(scheduler.Event) {}

// Each fault of the configuration is refused.
func TestConfigFaults(t *testing.T) {
	t.Parallel()
	const twoCenturies = 200 * 365 * 24 * time.Hour
	for path, change := range map[string]func(c *scheduler.Config){
		"store":         func(c *scheduler.Config) { c.Store = nil },
		"store: is nil": func(c *scheduler.Config) { c.Store = (*memlock.Store)(nil) },
		"name":          func(c *scheduler.Config) { c.Name = "a|b" },
		"namespace":     func(c *scheduler.Config) { c.Namespace = "a|b" },
		"grace":         func(c *scheduler.Config) { c.Grace = -1 },
		"cancel_grace":  func(c *scheduler.Config) { c.CancelGrace = -1 },
		"store_timeout": func(c *scheduler.Config) { c.StoreTimeout = -1 },
		"clock_warn":    func(c *scheduler.Config) { c.ClockWarn = -1 },

		"grace: is 1752000h0m0s, must be up to 24h":        func(c *scheduler.Config) { c.Grace = twoCenturies },
		"cancel_grace: is 1752000h0m0s, must be up to 24h": func(c *scheduler.Config) { c.CancelGrace = twoCenturies },
		"spread: is 1752000h0m0s, must be up to 1m":        func(c *scheduler.Config) { c.Spread = twoCenturies },
		"store_timeout: is 1752000h0m0s, must be up to 5m": func(c *scheduler.Config) { c.StoreTimeout = twoCenturies },

		"observers[0]: is nil": func(c *scheduler.Config) { c.Observers = []scheduler.Observer{scheduler.ObserverFunc(nil)} },
		"observers[1]: is nil": func(c *scheduler.Config) {
			c.Observers = []scheduler.Observer{scheduler.ObserverFunc(func(scheduler.Event) {}), (*idleObserver)(nil)}
		},

		"store_timeout: is 1ns, must be 10ms or more": func(c *scheduler.Config) { c.StoreTimeout = 1 },
		"Etc/GMT-8": func(c *scheduler.Config) { c.Zone = time.FixedZone("UTC+8", 8*3600) },
		"zone":      func(c *scheduler.Config) { c.Zone = time.Local },
	} {
		c := scheduler.Config{Name: "n", Store: new(memlock.Store), Jobs: []scheduler.Job{{Name: "a", Spec: "@daily", Func: nothing}}}
		change(&c)
		if _, err := scheduler.New(c); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want a refusal that names it", path, err)
		}
	}
}

// several are observers that share the place of one.
type several []scheduler.Observer

func (s several) Observe(e scheduler.Event) {
	for _, o := range s {
		o.Observe(e)
	}
}

// An observer that passes events on to a list is taken while the list is empty.
func TestObserverWithoutObservers(t *testing.T) {
	t.Parallel()
	if _, err := scheduler.New(scheduler.Config{Store: new(memlock.Store), Observers: []scheduler.Observer{several(nil)}}); err != nil {
		t.Error(err)
	}
}

// All faults of a configuration are returned together, each with its path.
func TestFaultsAreJoined(t *testing.T) {
	t.Parallel()
	_, err := scheduler.New(scheduler.Config{Name: "n n", Jobs: []scheduler.Job{
		{Name: "a", Spec: "@daily", Func: nothing},
		{Name: "a", Spec: "no spec", Func: nothing, Lease: 1},
		{Name: "b", Spec: "0 0 30 2 *", Func: nothing},
		{Name: "b", Spec: "@daily", Func: nothing},
		{Spec: "@daily"},
	}})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"store:", "name:", "jobs[1].name:", "jobs[1].spec:", "jobs[1].lease:", "jobs[2].spec:", "jobs[3].name:", "jobs[4].name:", "jobs[4].func:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not name %s", err, want)
		}
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 9 {
		t.Errorf("%v\nhas %d lines, want one for each of 9 faults", err, lines)
	}
}

// Unset fields have the documented defaults; specs of every form are accepted.
func TestJobsAreTaken(t *testing.T) {
	t.Parallel()
	var jobs []scheduler.Job
	for i, spec := range []string{"0/5 * * * * ?", "*/5 * * * *", "30 4 * * MON-FRI", "@every 90s", "@daily", "CRON_TZ=Asia/Shanghai 0 9 * * 1-5"} {
		jobs = append(jobs, scheduler.Job{Name: "job" + string(rune('a'+i)), Spec: spec, Func: nothing})
	}
	jobs = append(jobs, scheduler.Job{
		Name: "A.b_c-1", Spec: "@hourly", Func: nothing, Overlap: scheduler.OverlapReplace, Takeover: scheduler.TakeoverRerun, Attempts: 5,
		Window: time.Minute, Deadline: 2 * time.Hour, Timeout: time.Hour, Jitter: 59 * time.Minute, Lease: 500 * time.Millisecond,
		Retry: scheduler.Retry{Tries: 3, Wait: 2 * time.Minute, Max: time.Hour}, Interrupted: scheduler.InterruptedLost,
	}, scheduler.Job{Name: "again", Spec: "@hourly", Func: nothing, Window: time.Minute, Attempts: 2, Retry: scheduler.Retry{Tries: 2, Wait: 2 * time.Minute}})
	n, err := scheduler.New(scheduler.Config{Store: new(memlock.Store), Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	if n.Ready() == nil {
		t.Error("a node that does not run is ready")
	}
}

// A refused job leaves nothing behind: another job can use its name.
func TestRefusedJobLeavesNothing(t *testing.T) {
	t.Parallel()
	n, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store)})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Add(scheduler.Job{Name: "a", Spec: "@daily"}); err == nil || !strings.Contains(err.Error(), "jobs[0].func:") {
		t.Errorf("add without a function: %v", err)
	}
	if err := n.Add(scheduler.Job{Name: "a", Spec: "@daily", Func: nothing}); err != nil {
		t.Errorf("add after a refusal: %v", err)
	}
}

// Policies with an effect, even a small one, are accepted.
func TestJobPolicies(t *testing.T) {
	t.Parallel()
	for i, change := range []func(j *scheduler.Job){
		func(j *scheduler.Job) { j.Timeout, j.Retry.Tries = time.Second+1, 2 },
		func(j *scheduler.Job) { j.Timeout, j.Retry.Tries = time.Second, 1 },
		func(j *scheduler.Job) { j.Takeover, j.Attempts = scheduler.TakeoverRerun, 2 },
		func(j *scheduler.Job) { j.Attempts = 1 },
		func(j *scheduler.Job) {
			j.Takeover, j.Lease, j.Window = scheduler.TakeoverRerun, 5*time.Second, 5*time.Second+1
		},
		func(j *scheduler.Job) {
			j.Spec, j.Takeover, j.Window = "* * * * * *", scheduler.TakeoverRerun, 4*time.Second
		}, // a lease of 3 s by default
		func(j *scheduler.Job) { j.Window = time.Second }, // of drains
		func(j *scheduler.Job) {
			j.Window, j.Shards, j.Interrupted = time.Second, 2, scheduler.InterruptedLost
		}, // of the shards that have not started
	} {
		j := scheduler.Job{Name: "a", Spec: "* * * * *", Func: nothing}
		change(&j)
		if _, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Jobs: []scheduler.Job{j}}); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// A deadline that is too short to be met always gets a remark; the default never does.
func TestShortDeadline(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		spec             string
		deadline, spread time.Duration
		want             bool
	}{
		{"* * * * * *", 0, 0, false}, {"* * * * *", time.Second, 0, false}, {"* * * * *", time.Second - 1, 0, true}, {"* * * * *", time.Millisecond, -1, true},
		{"* * * * *", 2 * time.Second, 2 * time.Second, true}, {"* * * * *", 2*time.Second + 1, 2 * time.Second, false},
	} {
		j := scheduler.Job{Name: "a", Spec: test.spec, Func: nothing, Deadline: test.deadline}
		n, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Spread: test.spread, Jobs: []scheduler.Job{j}})
		if err != nil {
			t.Fatal(err)
		}
		remarks := strings.Join(n.Remarks(), "\n")
		if got := strings.Contains(remarks, "1 job has a deadline below 1s") && strings.HasSuffix(remarks, ": a"); got != test.want || !test.want && remarks != "" {
			t.Errorf("%+v: %q", test, remarks)
		}
	}
}
