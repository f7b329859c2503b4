package exec

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A standin is a backend that starts nothing. It keeps the last request, and returns a child or an error.
type standin struct {
	asked *request
	child child
	err   error
}

func (s *standin) run(context.Context) error { return nil }

func (s *standin) start(_ context.Context, q *request, _ []*os.File, _ func() (term, kill time.Time)) (child, error) {
	s.asked = q
	return s.child, s.err
}

// asked returns the request for a command in a run.
func asked(t *testing.T, c Command, run *scheduler.Run) *request {
	t.Helper()
	s := &standin{err: errors.New("not now")}
	f, err := (&Runner{backend: s}).Func(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := f(t.Context(), run); !errors.Is(err, s.err) || err.Error() != `exec: starting "`+c.Args[0]+`": not now` {
		t.Errorf("a start that fails: %v", err)
	}
	return s.asked
}

// A command learns the tick of its run in UTC and, if the run is a shard, also of a single one, its number and its parameter.
func TestVariablesOfARun(t *testing.T) {
	east := time.FixedZone("east", 2*60*60)
	q := asked(t, Command{Args: []string{"/bin/sh"}}, &scheduler.Run{ID: "id", Job: "job", Tick: time.Date(2026, 1, 5, 1, 30, 0, 5e6, east), Fence: 7, Attempt: 2, Shards: 1, Param: "eu"})
	want := []string{"CRONCE_JOB=job", "CRONCE_TICK=2026-01-04T23:30:00.005Z", "CRONCE_RUN_ID=id", "CRONCE_FENCE=7", "CRONCE_ATTEMPT=2",
		"CRONCE_SHARD=0", "CRONCE_SHARDS=1", "CRONCE_PARAM=eu"}
	if got := toTexts(q.Env); !slices.Equal(got[max(len(got)-len(want), 0):], want) {
		t.Errorf("the variables are %q, want at the end %q", got, want)
	}
}

// A command gets the few variables of the node by name, and a PATH also if the node has none.
func TestVariablesOfTheNode(t *testing.T) {
	t.Setenv("PATH", "")
	os.Unsetenv("PATH")
	var want []string
	for _, name := range []string{"HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		t.Setenv(name, "of the node")
		want = append(want, name+"=of the node")
	}
	want = append(want, "PATH="+defaultPath)
	q := asked(t, Command{Args: []string{"/bin/sh"}}, &scheduler.Run{ID: "id"})
	for _, v := range want {
		if !slices.Contains(toTexts(q.Env), v) {
			t.Errorf("%s is not among %q", v, toTexts(q.Env))
		}
	}
}

// A function keeps a copy of its command: later changes of the lists and of the mask have no effect.
func TestFunctionKeepsACopy(t *testing.T) {
	mask := 0o077
	c := Command{Args: []string{"/bin/sh", "old"}, Env: []string{"V=old"}, Umask: &mask, SkipCodes: []int{3}, PermanentCodes: []int{4}, RetryCodes: []int{5}}
	x := &witness{done: make(chan reply, 1)}
	s := &standin{child: x}
	f, err := (&Runner{backend: s}).Func(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Args[1], c.Env[0], mask = "new", "V=new", 0
	c.SkipCodes[0], c.PermanentCodes[0], c.RetryCodes[0] = 13, 14, 15
	for code, want := range map[int]string{3: "skip", 4: "final", 5: "again"} {
		x.done <- reply{Code: code}
		if got := kind(f(t.Context(), &scheduler.Run{ID: "id"})); got != want {
			t.Errorf("exit code %d: %s, want %s", code, got, want)
		}
	}
	if q := s.asked; string(q.Args[1]) != "old" || !slices.Contains(toTexts(q.Env), "V=old") || *q.Umask != 0o077 {
		t.Errorf("the request has the arguments %q, the variables %q and the mask %#o", q.Args, q.Env, *q.Umask)
	}
}

// A command without a grace of its own has 4s between SIGTERM and SIGKILL.
func TestUsualGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &witness{began: time.Now(), done: make(chan reply, 1)}
		f, err := (&Runner{backend: &standin{child: x}}).Func(Command{Args: []string{"/bin/sh"}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		time.AfterFunc(time.Second, stop)
		time.AfterFunc(2*time.Second, func() { x.done <- reply{Signal: 15} })
		if err := f(ctx, &scheduler.Run{ID: "id"}); err == nil || !slices.Equal(x.asked, []string{"1s stop 5s"}) {
			t.Errorf("%v, asked for %q", err, x.asked)
		}
	})
}

// A program that is not there fails the run for good.
func TestMissingProgramIsFinal(t *testing.T) {
	f, err := (&Runner{backend: &standin{}}).Func(Command{Args: []string{"/nothing/there"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f(t.Context(), &scheduler.Run{ID: "id"}); !errors.Is(err, os.ErrNotExist) || kind(err) != "final" {
		t.Errorf("%v is not final", err)
	}
}

// Values at their limits are accepted, and the next ones are not.
func TestLimits(t *testing.T) {
	mask := func(m int) *int { return &m }
	for name, c := range map[string]struct {
		at, beyond Command
	}{
		"stdin":     {Command{Stdin: strings.Repeat("x", maxStdin)}, Command{Stdin: strings.Repeat("x", maxStdin+1)}},
		"arguments": {Command{Args: []string{"a", strings.Repeat("x", maxArgs-17)}}, Command{Args: []string{"a", strings.Repeat("x", maxArgs-16)}}},
		"variables": {Command{Env: []string{"V=" + strings.Repeat("x", maxArgs-19)}}, Command{Env: []string{"V=" + strings.Repeat("x", maxArgs-18)}}},
		"codes":     {Command{SkipCodes: []int{1, 255, 1}}, Command{SkipCodes: []int{256}}},
		"low mask":  {Command{Umask: mask(0)}, Command{Umask: mask(-1)}},
		"high mask": {Command{Umask: mask(0o777)}, Command{Umask: mask(0o1000)}},
	} {
		for _, c := range []*Command{&c.at, &c.beyond} {
			if c.Args == nil {
				c.Args = []string{"a"}
			}
		}
		if err := c.at.check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.beyond.check() == nil {
			t.Errorf("%s: more than the limit is accepted", name)
		}
	}
}
