package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/why"
)

// A countingStore keeps the names of the jobs whose states are read, and may fail to name the changes or to read a job.
type countingStore struct {
	*flakyStore
	read  []string
	lists int // how often the jobs were listed
	fails error
	gone  string // a job that cannot be read
	hides string // a job that was deleted
}

func (s *countingStore) ReadSeries(ctx context.Context, keys []string) []series.Series {
	s.read = append(s.read, keys...)
	all := s.flakyStore.ReadSeries(ctx, keys)
	for i := range all {
		switch all[i].Key {
		case s.gone:
			all[i] = series.Series{Key: s.gone, Err: errSilent}
		case s.hides:
			all[i] = series.Series{Key: s.hides, Now: all[i].Now}
		}
	}
	return all
}

func (s *countingStore) Keys(ctx context.Context) ([]string, error) {
	s.lists++
	keys, err := s.flakyStore.Keys(ctx)
	return slices.DeleteFunc(keys, func(key string) bool { return key == s.hides }), err
}

func (s *countingStore) ChangedSince(ctx context.Context, since series.Position) ([]string, series.Position, bool, error) {
	if s.fails != nil {
		return nil, nil, false, s.fails
	}
	return s.flakyStore.ChangedSince(ctx, since)
}

// reads returns the jobs that a refresh reads, each once, by name.
func (s *countingStore) reads(t *testing.T, p *Projection) []string {
	t.Helper()
	s.read = nil
	if now := p.Refresh(t.Context()); now.Down != "" {
		t.Fatal(now.Down)
	}
	slices.Sort(s.read)
	return slices.Compact(s.read)
}

// A refresh reads the states of the jobs that have changed, of those that are due, and of no others;
// after a minute, or after an error, it reads all.
func TestOnlyChangedJobsAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &countingStore{flakyStore: opened(t)}
		var all []string
		for i := range 100 {
			all = append(all, fmt.Sprintf("job-%02d", i))
			s.spec(t, all[i], "@every 1h", "n1")
		}
		p := newProjection(s)
		want := func(when string, want ...string) {
			t.Helper()
			if got := s.reads(t, p); !slices.Equal(got, want) {
				t.Errorf("%s: read %q, want %q", when, got, want)
			}
		}
		want("at first", all...)
		want("nothing has changed")
		s.pause(t, all[7], time.Now().Add(20*time.Second))
		s.pause(t, all[9], time.Time{})
		want("two are paused", all[7], all[9])
		if len(s.read) != 2 {
			t.Errorf("two jobs have changed, and %d states are read: a state that is read before the journal is of no use", len(s.read))
		}
		time.Sleep(19 * time.Second)
		s.spec(t, all[3], "@every 1h", "n2")
		s.spec(t, all[5], "@every 2h", "n2")
		s.spec(t, "new", "@every 1h", "n1")
		want("another spec and another job", all[5], "new")
		time.Sleep(time.Second + time.Millisecond)
		want("a pause is over", all[7])
		if j := p.Peek().Job(all[7]); j.State != OK {
			t.Errorf("a pause is over, and the job is %s", j.State)
		}
		s.fails = errors.New("connection refused")
		s.pause(t, all[11], time.Time{})
		want("the changes are not known", append(slices.Clone(all), "new")...)
		s.fails = nil
		want("they are known again", all[11])
		s.spec(t, all[2], "@every 2h", "n2")
		time.Sleep(time.Minute)
		want("a minute later", append(slices.Clone(all), "new")...)
		if use := why.LastUsed(p.Peek().Job(all[2]).Journal.Revisions); use.Spec != "@every 2h" {
			t.Errorf("a minute after another spec it is %s", use.Spec)
		}
		s.Forget()
		s.spec(t, all[0], "@every 1h", "n1")
		want("after a loss", all[0])
		if now := p.Peek().Jobs; len(now) != 1 {
			t.Errorf("after a loss of all but one there are %d jobs", len(now))
		}
	})
}

// While the store names the jobs that are new, the reading of all jobs each minute does not list them: a
// list costs a store as much as the reading itself. The jobs are listed again when one of them is new or
// gone, and after ten minutes.
func TestJobsAreListedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &countingStore{flakyStore: opened(t, "a", "b")}
		p := newProjection(s)
		want := func(when string, lists int, jobs ...string) {
			t.Helper()
			time.Sleep(wholeEvery)
			s.lists = 0
			if s.reads(t, p); len(s.read) < len(jobs) {
				t.Errorf("%s: read %q", when, s.read)
			}
			var names []string
			for _, j := range p.Peek().Jobs {
				names = append(names, j.Name)
			}
			if s.lists != lists || !slices.Equal(names, jobs) {
				t.Errorf("%s: listed %d times, want %d; shown %q, want %q", when, s.lists, lists, names, jobs)
			}
		}
		want("at first", 1, "a", "b")
		want("a minute later", 0, "a", "b")
		s.spec(t, "new", "@every 1h", "n1")
		p.Refresh(t.Context())
		want("with a new job", 1, "a", "b", "new")
		s.spec(t, "newer", "@every 1h", "n1")
		want("with a job that came since the last reading", 1, "a", "b", "new", "newer")
		for range 10 {
			want("in the ten minutes after it", 0, "a", "b", "new", "newer")
		}
		want("ten minutes later", 1, "a", "b", "new", "newer")
		want("a minute later", 0, "a", "b", "new", "newer")
		s.hides = "b"
		want("without a job", 1, "a", "new", "newer")
	})
}

// Each change of a state that has lines of its own makes the journal old. The time alone does not, nor does a lease
// that is renewed.
func TestChangedState(t *testing.T) {
	state := func(edit func(s *series.Series, r *series.Run)) *series.Series {
		s := &series.Series{Key: "job", Now: 9, Mark: 5, Fence: 7, Last: 4, Change: 2, Runs: []series.Run{{Number: 5, State: series.RunOpen, Fence: 7, Attempt: 1, Until: 20}}}
		edit(s, &s.Runs[0])
		return s
	}
	same := func(*series.Series, *series.Run) {}
	for name, c := range map[string]struct {
		edit func(s *series.Series, r *series.Run)
		want bool
	}{
		"nothing":    {same, false},
		"the time":   {func(s *series.Series, _ *series.Run) { s.Now++ }, false},
		"a renewal":  {func(_ *series.Series, r *series.Run) { r.Until++ }, false},
		"the mark":   {func(s *series.Series, _ *series.Run) { s.Mark++ }, true},
		"the fence":  {func(s *series.Series, _ *series.Run) { s.Fence++ }, true},
		"a success":  {func(s *series.Series, _ *series.Run) { s.Last++ }, true},
		"a pause":    {func(s *series.Series, _ *series.Run) { s.Paused = true }, true},
		"a change":   {func(s *series.Series, _ *series.Run) { s.Change++ }, true},
		"a run ends": {func(s *series.Series, _ *series.Run) { s.Runs = nil }, true},
		"its state":  {func(_ *series.Series, r *series.Run) { r.State = series.RunGivenBack }, true},
		"its fence":  {func(_ *series.Series, r *series.Run) { r.Fence++ }, true},
		"its number": {func(_ *series.Series, r *series.Run) { r.Number++ }, true},
		"an attempt": {func(_ *series.Series, r *series.Run) { r.Attempt++ }, true},
	} {
		if got := (&Job{Series: *state(same)}).changed(state(c.edit)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The store names each change once. A job that cannot be read then is listed, and not as known before if it is new.
// Its journal is read as soon as it can be, since the change may be there alone.
func TestChangeThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &countingStore{flakyStore: opened(t)}
		s.spec(t, "report", "@every 1h", "n1")
		p := newProjection(s)
		p.Refresh(t.Context())
		s.spec(t, "new", "@every 1h", "n1")
		s.gone = "new"
		now := p.Refresh(t.Context())
		if j := now.Job("new"); j == nil || j.State != Unknown || len(now.Faults) > 0 {
			t.Errorf("%q, the new job is %+v", now.Faults, j)
		}
		s.gone = "report"
		s.spec(t, "report", "@every 2h", "n1")
		if now := p.Refresh(t.Context()); now.Job("report").State != OK || len(now.Faults) != 1 {
			t.Errorf("%q, %+v", now.Faults, now.Job("report"))
		}
		s.gone = ""
		now = p.Refresh(t.Context())
		if use := why.LastUsed(now.Job("report").Journal.Revisions); use.Spec != "@every 2h" || now.Job("new").State != OK || len(now.Faults) > 0 {
			t.Errorf("%q, the spec is %s", now.Faults, use.Spec)
		}
	})
}

// Whatever happens to the jobs, a projection that reads the changes shows what another shows that
// reads all jobs each time.
func TestChangesShowTheSame(t *testing.T) {
	seed := rand.Uint64()
	for round := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			sameAsWhole(t, rand.New(rand.NewPCG(seed, round)), fmt.Sprintf("seed %d, round %d", seed, round))
		})
	}
}

func sameAsWhole(t *testing.T, r *rand.Rand, name string) {
	s := opened(t)
	jobs := []string{"a", "b", "c", "d", "e", "f"}
	specs := []string{"@every 1s", "@every 5s", "@every 1m", "@every 1h", "0 0 30 2 *"}
	for _, job := range jobs {
		s.spec(t, job, specs[r.IntN(len(specs))], "n1")
	}
	part, whole := newProjection(s), newProjection(struct{ Store }{s})
	for range 40 {
		for range r.IntN(4) {
			s.happens(t, r, jobs[r.IntN(len(jobs))], specs)
		}
		time.Sleep(time.Duration(r.Int64N([]int64{10, 2000, 20_000, 400_000, 30_000_000}[r.IntN(5)])) * time.Millisecond)
		if r.IntN(3) > 0 {
			s.beat(t)
		}
		for _, j := range whole.Peek().Jobs {
			j.read = 0
		}
		got, want := part.Refresh(t.Context()), whole.Refresh(t.Context())
		for _, j := range want.Jobs {
			if g, w := viewed(t, got, got.Job(j.Name)), viewed(t, want, j); g != w {
				t.Fatalf("%s: %s shows\n%s\nwant\n%s", name, j.Name, g, w)
			}
		}
		if g, w := text(t, got.Status()), text(t, want.Status()); g != w || len(got.Jobs) != len(want.Jobs) {
			t.Fatalf("%s: the status is\n%s\nwant\n%s", name, g, w)
		}
	}
}

// happens lets a random step happen to a job.
func (s *flakyStore) happens(t *testing.T, r *rand.Rand, job string, specs []string) {
	now := time.Now()
	is := s.Store.ReadSeries(t.Context(), []string{job})[0]
	tick := now.Truncate(time.Second).UnixMilli()
	c := series.Claim{Key: job, Owner: fmt.Sprintf("web-1/%d", r.Uint64()), Number: tick, After: min(is.Mark, tick-1), TTL: 10 * time.Second, Deadline: time.Hour,
		Attempts: 2, Rerun: r.IntN(2) == 0, Overlap: series.Overlap(r.IntN(4)), Latest: tick + 60_000, Revision: "r"}
	switch r.IntN(10) {
	case 0:
		j, _ := s.Store.Journal(t.Context(), job, 0)
		if spec := specs[r.IntN(len(specs))]; why.LastUsed(j.Revisions).Spec != spec { // the sighting of the latest one is no change
			s.spec(t, job, spec, "n2")
		}
	case 1:
		s.pause(t, job, now.Add(time.Duration(r.IntN(60)+1)*time.Second))
	case 2:
		s.pause(t, job, time.Time{})
	case 3, 4:
		s.Control(t.Context(), series.Control{Key: job, Action: series.ActionResume, Op: c.Owner, Who: "bob", Reason: "back", Seen: -1})
	case 5: // its node dies
		s.Claim(t.Context(), []series.Claim{c})
	default:
		a := s.Claim(t.Context(), []series.Claim{c})[0]
		e := series.EndRequest{RunRef: series.RunRef{Key: job, Number: tick, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL}, Outcome: series.OutcomeFailed}
		if e.OK = r.IntN(3) > 0; e.OK {
			e.Outcome = series.OutcomeOK
		}
		if e.State = series.RunDone; r.IntN(6) == 0 {
			e.State = series.RunGivenBack
		}
		if a.Kind == series.KindGranted {
			time.Sleep(time.Duration(r.IntN(900)) * time.Millisecond)
			s.RenewRuns(t.Context(), []series.RunRef{e.RunRef})
			s.ReleaseRuns(t.Context(), []series.EndRequest{e})
		}
	}
}

// spec lets a node open a job with a spec.
func (s *flakyStore) spec(t *testing.T, job, spec, node string) {
	t.Helper()
	o := series.OpenRequest{Key: job, Node: node, Revision: "r " + spec, Spec: spec, Zone: "UTC", Policies: "overlap:skip/misfire:once"}
	if got := s.Open(t.Context(), []series.OpenRequest{o})[0]; got.Err != nil {
		t.Fatal(got.Err)
	}
}

// pause pauses a job until an instant, or with a zero instant until it is resumed.
func (s *flakyStore) pause(t *testing.T, job string, until time.Time) {
	t.Helper()
	c := series.Control{Key: job, Action: series.ActionPause, Op: fmt.Sprint(time.Now().UnixNano(), until), Who: "ann", Reason: "gateway", Seen: -1}
	if !until.IsZero() {
		c.Until = until.UnixMilli()
	}
	if a := s.Control(t.Context(), c); a.Err != nil {
		t.Fatal(a.Err)
	}
}

func viewed(t *testing.T, s *Snapshot, j *Job) string {
	t.Helper()
	if j == nil {
		return "nothing"
	}
	return text(t, s.View(j, true)) + text(t, j.Runs) + text(t, j.Stall)
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
