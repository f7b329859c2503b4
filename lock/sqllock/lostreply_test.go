package sqllock_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// A scene is a request whose reply may be lost.
type scene struct {
	name string
	// set prepares the request.
	set func(s *stage)
	// ask sends the request, always as the same owner.
	ask func(s *stage, d *sqllock.Driver) error
	// done fails the test unless the request was carried out, once.
	done func(s *stage)
}

// A stage is a key of its own, on which a scene runs.
type stage struct {
	*testing.T
	d       *sqllock.Driver // none of its replies is lost
	key     string
	hold    driver.LeaseRef
	claim   series.Claim
	run     series.RunRef
	control series.Control
}

const minute = time.Minute

func (s *stage) acquisition(owner string) driver.Acquisition {
	return driver.Acquisition{Key: s.key, Owner: owner, TTL: minute}
}

func (s *stage) acquire(owner string) {
	s.Helper()
	g, err := s.d.Acquire(s.Context(), s.acquisition(owner))
	must(s, err)
	s.hold = driver.LeaseRef{Key: s.key, Owner: owner, Fence: g.Fence, TTL: minute}
}

func (s *stage) release() {
	s.Helper()
	must(s, s.d.Release(s.Context(), s.hold))
}

// open registers the series and makes its first number due.
func (s *stage) open() {
	s.Helper()
	is := s.d.Open(s.Context(), []series.OpenRequest{{Key: s.key, Node: "n", Revision: "r"}})[0]
	must(s, is.Err)
	s.claim = series.Claim{Key: s.key, Owner: "n/1", Number: is.Mark + 1, After: is.Mark, TTL: minute, Deadline: time.Hour,
		Attempts: 1, Latest: driver.MaxNumber, Revision: "r"}
	waitOn(s, s.d, 2*time.Millisecond)
}

func (s *stage) grant() {
	s.Helper()
	s.open()
	a := s.d.Claim(s.Context(), []series.Claim{s.claim})[0]
	must(s, a.Err)
	s.run = series.RunRef{Key: s.key, Number: s.claim.Number, Owner: s.claim.Owner, Fence: a.Fence, TTL: minute}
}

// lines fails the test unless the journal has these verdicts.
func (s *stage) lines(want ...series.Verdict) []series.Line {
	s.Helper()
	j, err := s.d.Journal(s.Context(), s.key, 0)
	must(s, err)
	var got []series.Verdict
	for _, l := range j.Lines {
		got = append(got, l.Verdict)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.Errorf("the journal is %q, want %q", got, want)
	}
	return j.Lines
}

// has fails the test unless the owner holds the key, and gets the same fence again.
func (s *stage) has(owner string) {
	s.Helper()
	at, err := s.d.Inspect(s.Context(), s.key)
	must(s, err)
	g, err := s.d.Acquire(s.Context(), s.acquisition(owner))
	must(s, err)
	if at.Owner != owner || at.Fence != g.Fence || at.Waiting != 0 {
		s.Errorf("the key stands at %+v, %s has the fence %d", at, owner, g.Fence)
	}
}

func (s *stage) sharing(owner string) driver.Acquisition {
	a := s.acquisition(owner)
	a.Limit = 2
	return a
}

// share acquires with the limit 2.
func (s *stage) share(owner string) {
	s.Helper()
	g, err := s.d.Acquire(s.Context(), s.sharing(owner))
	must(s, err)
	s.hold = driver.LeaseRef{Key: s.key, Owner: owner, Fence: g.Fence, TTL: minute, Limit: 2}
}

// holders fails the test unless exactly these owners hold the key.
func (s *stage) holders(want ...string) {
	s.Helper()
	all, err := s.d.Holders(s.Context(), s.key)
	must(s, err)
	var got []string
	for _, h := range all {
		got = append(got, h.Owner)
	}
	if !slices.Equal(got, want) {
		s.Errorf("the holders are %q, want %q", got, want)
	}
}

func acquireIt(s *stage, d *sqllock.Driver) error {
	_, err := d.Acquire(s.Context(), s.acquisition("n/1"))
	return err
}

var scenes = []scene{
	{"a key that is new", func(*stage) {}, acquireIt, func(s *stage) { s.has("n/1") }},
	{"a key that is free", func(s *stage) { s.acquire("m/1"); s.release() }, acquireIt, func(s *stage) { s.has("n/1") }},
	{"a key that is kept",
		func(s *stage) {
			s.acquire("m/1")
			_ = s.d.Abandon(s.Context(), s.acquisition("n/1"))
			s.release()
		}, acquireIt, func(s *stage) { s.has("n/1") }},
	{"a wait", func(*stage) {},
		func(s *stage, d *sqllock.Driver) error {
			_, err := d.Wait(s.Context(), s.acquisition("n/1"))
			return err
		}, func(s *stage) { s.has("n/1") }},
	{"a renewal", func(s *stage) { s.acquire("n/1") },
		func(s *stage, d *sqllock.Driver) error { _, err := d.Renew(s.Context(), s.hold); return err },
		func(s *stage) { s.has("n/1") }},
	{"a release", func(s *stage) { s.acquire("n/1") },
		func(s *stage, d *sqllock.Driver) error { return d.Release(s.Context(), s.hold) },
		func(s *stage) { s.acquire("m/1") }},
	{"a release to who waits",
		func(s *stage) {
			s.acquire("m/1")
			_ = s.d.Abandon(s.Context(), s.acquisition("n/1"))
		},
		func(s *stage, d *sqllock.Driver) error {
			err := d.Release(s.Context(), s.hold)
			if errors.Is(err, driver.ErrLost) { // another owner already has it
				return nil
			}
			return err
		},
		func(s *stage) { s.acquire("n/1"); s.has("n/1") }},
	{"a key that is shared", func(s *stage) { s.share("m/1") },
		func(s *stage, d *sqllock.Driver) error {
			_, err := d.Acquire(s.Context(), s.sharing("n/1"))
			return err
		},
		func(s *stage) { s.holders("m/1", "n/1") }},
	{"a renewal of what is shared", func(s *stage) { s.share("n/1"); s.share("m/1"); s.share("n/1") },
		func(s *stage, d *sqllock.Driver) error { _, err := d.Renew(s.Context(), s.hold); return err },
		func(s *stage) { s.holders("n/1", "m/1") }},
	{"a release of what is shared", func(s *stage) { s.share("m/1"); s.share("n/1") },
		func(s *stage, d *sqllock.Driver) error {
			err := d.Release(s.Context(), s.hold)
			if errors.Is(err, driver.ErrLost) { // the other owner has it
				return nil
			}
			return err
		},
		func(s *stage) { s.holders("m/1") }},
	{"several keys", func(*stage) {},
		func(s *stage, d *sqllock.Driver) error {
			other := s.acquisition("n/1")
			other.Key += ", another"
			_, err := d.AcquireAll(s.Context(), []driver.Acquisition{s.acquisition("n/1"), other})
			return err
		}, func(s *stage) { s.has("n/1"); s.key += ", another"; s.has("n/1") }},
	{"an opening", func(*stage) {},
		func(s *stage, d *sqllock.Driver) error {
			return d.Open(s.Context(), []series.OpenRequest{{Key: s.key, Node: "n", Revision: "r"}})[0].Err
		}, func(s *stage) { s.lines(series.VerdictOpened) }},
	{"a claim", (*stage).open,
		func(s *stage, d *sqllock.Driver) error { return d.Claim(s.Context(), []series.Claim{s.claim})[0].Err },
		func(s *stage) {
			a := s.d.Claim(s.Context(), []series.Claim{s.claim})[0]
			if a.Kind != series.KindGranted || a.Attempt != 1 {
				s.Errorf("asked again it is %+v", a)
			}
			if lines := s.lines(series.VerdictOpened, series.VerdictRan); len(lines) == 2 && lines[1].Fence != a.Fence {
				s.Errorf("the fence is %d, in the journal %d", a.Fence, lines[1].Fence)
			}
		}},
	{"a renewal of a run", (*stage).grant,
		func(s *stage, d *sqllock.Driver) error {
			return d.RenewRuns(s.Context(), []series.RunRef{s.run})[0].Err
		},
		func(s *stage) { s.lines(series.VerdictOpened, series.VerdictRan) }},
	{"an ending", (*stage).grant,
		func(s *stage, d *sqllock.Driver) error {
			e := d.ReleaseRuns(s.Context(), []series.EndRequest{{RunRef: s.run, Outcome: series.OutcomeOK, OK: true}})[0]
			if e.Err == nil && !e.Ended {
				s.Error("the ending is refused")
			}
			return e.Err
		},
		func(s *stage) {
			if lines := s.lines(series.VerdictOpened, series.VerdictRan); len(lines) == 2 && lines[1].Outcome != series.OutcomeOK {
				s.Errorf("the outcome is %q", lines[1].Outcome)
			}
		}},
}

// Whichever reply of the database is lost, the request is doubt. If the same owner repeats it, it
// is carried out once.
func TestLostReply(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		clean := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
		db, l := on.lossyOn(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		for _, c := range slices.Concat(scenes, changeScenes()) {
			for lost := int64(1); ; lost++ {
				if lost > 50 {
					t.Fatalf("%s: it does not end", c.name)
				}
				s := &stage{T: t, d: clean, key: fmt.Sprint(c.name, lost)}
				c.set(s)
				l.Calls.Store(lost)
				err := c.ask(s, d)
				all := l.Calls.Load() > 0 // the request was complete before this many calls
				l.Calls.Store(-1)
				if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%s, reply %d: the error is %v, want that of the connection", c.name, lost, err)
				}
				must(t, c.ask(s, clean))
				c.done(s)
				if all {
					break
				}
			}
		}
	})
}
