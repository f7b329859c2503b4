package lockcommand

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

func schedule(t *testing.T, text string) *spec.Schedule {
	t.Helper()
	s, err := spec.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A call is for the next tick if that is near, or else for the latest one.
func TestTickAt(t *testing.T) {
	for _, c := range []struct{ spec, now, want string }{
		{"0 3 * * *", "2026-01-05T03:00:00Z", "2026-01-05T03:00:00Z"},
		{"0 3 * * *", "2026-01-05T02:59:00Z", "2026-01-05T03:00:00Z"},
		{"0 3 * * *", "2026-01-05T02:58:59Z", "2026-01-04T03:00:00Z"},
		{"0 3 * * *", "2026-01-05T14:00:00Z", "2026-01-05T03:00:00Z"},
		{"* * * * *", "2026-01-05T03:00:29Z", "2026-01-05T03:00:00Z"},
		{"* * * * *", "2026-01-05T03:00:30Z", "2026-01-05T03:01:00Z"},
		{"@every 10s", "2026-01-05T03:00:04Z", "2026-01-05T03:00:00Z"},
		{"@every 10s", "2026-01-05T03:00:05Z", "2026-01-05T03:00:10Z"},
		{"@every 7m", "1970-01-01T00:14:30Z", "1970-01-01T00:14:00Z"},
		{"@at 2026-01-05T03:00", "2026-01-05T02:59:30Z", "2026-01-05T03:00:00Z"},
		{"@at 2026-01-05T03:00", "2026-01-05T02:50:00Z", ""},
		{"@at 2026-01-05T03:00", "2026-02-05T02:50:00Z", "2026-01-05T03:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if ms := tickAt(schedule(t, c.spec), now.UnixMilli()); ms != 0 {
			got = time.UnixMilli(ms).UTC().Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%s at %s: got %s, want %s", c.spec, c.now, got, c.want)
		}
	}
}

// A crowd is a set of machines with the same line in their crontabs.
type crowd struct {
	t     *testing.T
	store tickStore

	mu   sync.Mutex
	spec *spec.Schedule
	ran  []string // ticks, as they were granted
	said []series.Kind
}

func newCrowd(t *testing.T, text string) *crowd {
	return &crowd{t: t, store: memlock.New(memlock.Options{}), spec: schedule(t, text)}
}

// call makes one call of the line, whose command takes some time.
func (m *crowd) call(takes time.Duration) {
	m.mu.Lock()
	c := tickCall{store: m.store, node: "m", key: seriesPrefix + "k", schedule: m.spec, ttl: 10 * time.Second}
	m.mu.Unlock()
	a, err := c.claim(m.t.Context())
	switch {
	case err != nil:
		m.t.Error(err)
		return
	case a.Lease == nil:
		m.mu.Lock()
		m.said = append(m.said, a.Kind)
		m.mu.Unlock()
		return
	}
	m.mu.Lock()
	m.ran = append(m.ran, time.UnixMilli(c.tick).UTC().Format(time.TimeOnly))
	m.mu.Unlock()
	_ = wait.Sleep(m.t.Context(), takes)
	if err := end(series.FrontOf(m.store), a.Lease, series.EndRequest{Outcome: series.OutcomeOK, OK: true}); err != nil {
		m.t.Error(err)
	}
}

// at calls the line at an instant after the beginning of the bubble, 2000-01-01T00:00:00Z.
func (m *crowd) at(wg *sync.WaitGroup, after, takes time.Duration) {
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(after)
	wg.Go(func() {
		_ = wait.Sleep(m.t.Context(), time.Until(at))
		m.call(takes)
	})
}

func (m *crowd) want(ticks ...string) {
	m.t.Helper()
	if !slices.Equal(m.ran, ticks) {
		m.t.Errorf("ran %q, want %q", m.ran, ticks)
	}
	j, r := m.judged()
	if !r.OK() || len(r.Faults) > 0 || r.Undecided > 0 {
		m.t.Errorf("the proof: %+v of %+v", r, j.Lines)
	}
}

// judged returns the journal and the report of its proof.
func (m *crowd) judged() (series.Journal, verify.Report) {
	front := series.FrontOf(m.store)
	j, err := front.Journal(m.t.Context(), seriesPrefix+"k", 0)
	if err != nil {
		m.t.Fatal(err)
	}
	s := front.ReadSeries(m.t.Context(), []string{seriesPrefix + "k"})[0]
	r, late := ops.Judge(j, &s, verify.Options{}, ops.NewNodeList(series.MemberList{Now: s.Now}, nil))
	if len(late) > 0 {
		m.t.Errorf("overdue: %v", late)
	}
	return j, r
}

// Three machines whose clocks are up to 20 seconds apart run each minute once, including the first
// one.
func TestOncePerTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newCrowd(t, "* * * * *")
		var wg sync.WaitGroup
		for minute := range 10 {
			for _, off := range []time.Duration{-20 * time.Second, 0, 20 * time.Second} {
				m.at(&wg, time.Duration(minute+1)*time.Minute+off, time.Millisecond)
			}
		}
		wg.Wait()
		m.want("00:01:00", "00:02:00", "00:03:00", "00:04:00", "00:05:00", "00:06:00", "00:07:00", "00:08:00", "00:09:00", "00:10:00")
		for _, kind := range m.said {
			if kind != series.KindPassed {
				t.Errorf("a call is answered %v", kind)
			}
		}
	})
}

// A call that is early claims the tick at its instant, not after it.
func TestEarlyCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newCrowd(t, "* * * * *")
		time.Sleep(40 * time.Second)
		if m.call(0); time.Now().Second() != 0 || time.Now().Nanosecond() != 0 {
			t.Errorf("the call ran its command at %v", time.Now())
		}
		m.want("00:01:00")
	})
}

// The first call of all is late, and no machine calls for two ticks: they are missed, and no tick
// is overdue.
func TestTicksNobodyAsksFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newCrowd(t, "* * * * *")
		var wg sync.WaitGroup
		m.at(&wg, 70*time.Second, time.Millisecond)
		m.at(&wg, 250*time.Second, time.Millisecond)
		wg.Wait()
		time.Sleep(time.Hour)
		m.want("00:01:00", "00:04:00")
		if _, r := m.judged(); r.Missed["misfire"] != 2 || r.Overdue != 0 {
			t.Errorf("the proof: %+v", r)
		}
	})
}

// While a run is alive the next tick is skipped, and one call gets this answer. A tick that was due
// before the run was granted is not skipped: it runs afterwards.
func TestTickWhileARunIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newCrowd(t, "* * * * *")
		var wg sync.WaitGroup
		m.at(&wg, time.Minute, 90*time.Second)
		m.at(&wg, 2*time.Minute, 0)
		m.at(&wg, 2*time.Minute+time.Second, 0)
		m.at(&wg, 3*time.Minute, 0)
		wg.Wait()
		m.want("00:01:00", "00:03:00")
		if !slices.Equal(m.said, []series.Kind{series.KindSkipped, series.KindPassed}) {
			t.Errorf("the calls are answered %v", m.said)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := newCrowd(t, "* * * * *")
		var wg sync.WaitGroup
		m.at(&wg, time.Minute+20*time.Second, 20*time.Second)
		synctest.Wait()
		time.Sleep(time.Minute + 25*time.Second)
		m.mu.Lock()
		m.spec = schedule(t, "15 * * * * *") // on a machine whose crontab was changed first
		m.mu.Unlock()
		m.call(0)
		wg.Wait()
		m.want("00:01:00", "00:01:15")
		if time.Since(time.Date(2000, 1, 1, 0, 1, 40, 0, time.UTC)) < 0 {
			t.Error("the runs overlap")
		}
	})
}

// A run that never started is run by another call for its tick, or settled by a call for a later
// tick.
func TestTickThatNeverStarted(t *testing.T) {
	unstarted := func(m *crowd) {
		m.t.Helper()
		c := tickCall{store: m.store, node: "m", key: seriesPrefix + "k", schedule: m.spec, ttl: 10 * time.Second}
		a, err := c.claim(m.t.Context())
		if err == nil && a.Lease != nil {
			err = end(series.FrontOf(m.store), a.Lease, series.EndRequest{State: series.RunUnstarted, Outcome: series.OutcomeUnstarted})
		}
		if err != nil {
			m.t.Error(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		m := newCrowd(t, "* * * * *")
		time.Sleep(time.Minute)
		unstarted(m)
		m.call(0)
		m.call(0)
		m.want("00:01:00")
		time.Sleep(time.Minute)
		unstarted(m)
		time.Sleep(time.Minute)
		m.call(0)
		m.want("00:01:00", "00:03:00")
	})
}

// slow is a store that takes a second to answer a claim, which is stopped meanwhile.
type slow struct {
	*memlock.Store
	stop func()
}

func (s slow) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	as := s.Store.Claim(ctx, cs)
	s.stop()
	_ = wait.Sleep(ctx, time.Second)
	return as
}

// A call that is stopped while the store grants its claim knows that it has the run, and can end it.
func TestStoppedDuringTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c := tickCall{store: slow{memlock.New(memlock.Options{}), stop}, node: "m", key: "lock/k", schedule: schedule(t, "* * * * *"), ttl: 10 * time.Second}
		a, err := c.claim(ctx)
		if err != nil || a.Kind != series.KindGranted || a.Lease == nil {
			t.Fatalf("got %+v, %v, want a lease", a, err)
		}
		if err := end(series.FrontOf(c.store), a.Lease, series.EndRequest{State: series.RunUnstarted, Outcome: series.OutcomeUnstarted}); err != nil {
			t.Error(err)
		}
	})
}

// silent is a store that does not answer, or that has no series.
type silent struct {
	tickStore
	err error
}

func (s silent) Now(context.Context) ([]driver.ClockReading, error) { return nil, s.err }

// Requests to a store that does not answer are repeated for a while; requests that it refuses are
// not.
func TestTickInDoubt(t *testing.T) {
	broken, refused := errors.New("no answer"), errors.New("refused")
	for err, want := range map[error]time.Duration{broken: askFor, refused: 0, lock.ErrUnsupported: 0, lock.ErrUnfit: 0} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			c := tickCall{store: silent{memlock.New(memlock.Options{}), err}, node: "m", key: "lock/k", schedule: schedule(t, "* * * * *"), ttl: time.Second,
				refuses: func(err error) bool { return errors.Is(err, refused) }}
			_, got := c.claim(t.Context())
			if !errors.Is(got, err) || time.Since(began).Round(2*time.Second) != want {
				t.Errorf("got %v after %v, want %v after %v", got, time.Since(began), err, want)
			}
		})
	}
}

// answering is a store that gives these answers to the requests that end a run.
type answering struct {
	*memlock.Store
	answers *[]series.EndAnswer
}

func (a answering) ReleaseRuns(context.Context, []series.EndRequest) []series.EndAnswer {
	next := (*a.answers)[:1]
	*a.answers = (*a.answers)[1:]
	return next
}

// A run that the store does not end was lost, unless an earlier request without an answer may have ended it: that is doubt.
func TestEndInDoubt(t *testing.T) {
	broken := series.EndAnswer{Err: errors.New("no answer")}
	for name, c := range map[string]struct {
		answers     []series.EndAnswer
		ended, lost bool
	}{
		"ended":              {[]series.EndAnswer{{Ended: true}}, true, false},
		"ended at last":      {[]series.EndAnswer{broken, broken, {Ended: true}}, true, false},
		"settled by another": {[]series.EndAnswer{{}}, false, true},
		"perhaps by this":    {[]series.EndAnswer{broken, {}}, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := answering{memlock.New(memlock.Options{}), &c.answers}
			a, err := (&tickCall{store: store, node: "m", key: "lock/k", schedule: schedule(t, "* * * * *"), ttl: 10 * time.Second}).claim(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			err = end(series.FrontOf(store), a.Lease, series.EndRequest{Outcome: series.OutcomeOK, OK: true})
			if (err == nil) != c.ended || errors.Is(err, lock.ErrLost) != c.lost || len(c.answers) > 0 {
				t.Errorf("%s: %v, and %d answers are left", name, err, len(c.answers))
			}
		})
	}
}

// forgetful is a store that forgets its series at the first claim.
type forgetful struct {
	*memlock.Store
	forgot, known bool
}

func (f *forgetful) Open(ctx context.Context, os []series.OpenRequest) []series.Series {
	f.known = true
	return f.Store.Open(ctx, os)
}

func (f *forgetful) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	if !f.forgot {
		f.forgot, f.known = true, false
	}
	if !f.known {
		return []series.Answer{{Kind: series.KindUnknown}}
	}
	return f.Store.Claim(ctx, cs)
}

// stepping is a store whose clock steps ahead at the first claim.
type stepping struct {
	*memlock.Store
	step func()
}

func (s stepping) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	s.step()
	return s.Store.Claim(ctx, cs)
}

// A call asks again if the store has forgotten the series, or if the store's clock has stepped.
func TestAskedAgain(t *testing.T) {
	for name, store := range map[string]func() tickStore{
		"forgotten": func() tickStore { return &forgetful{Store: memlock.New(memlock.Options{})} },
		"stepped": func() tickStore {
			ahead := time.Duration(0)
			now := func() time.Time { return time.Now().Add(ahead) }
			return stepping{memlock.New(memlock.Options{Now: now}), func() { ahead = 2 * askTime }}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := tickCall{store: store(), node: "m", key: "lock/k", schedule: schedule(t, "* * * * *"), ttl: 10 * time.Second}
			a, err := c.claim(t.Context())
			if err != nil || a.Kind != series.KindGranted {
				t.Fatalf("%s: got %+v, %v, want a lease", name, a, err)
			}
			if err := end(series.FrontOf(c.store), a.Lease, series.EndRequest{Outcome: series.OutcomeOK, OK: true}); err != nil {
				t.Error(err)
			}
		})
	}
}
