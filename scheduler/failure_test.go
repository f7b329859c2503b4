package scheduler_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A loaded error panics in each of its methods, and so does the panic value that it prints.
type loaded struct{}

func (loaded) Error() string    { panic("Error panics") }
func (loaded) Unwrap() error    { panic("Unwrap panics") }
func (loaded) Is(error) bool    { panic("Is panics") }
func (loaded) As(any) bool      { panic("As panics") }
func (loaded) String() string   { panic("String panics") }
func (loaded) GoString() string { panic("GoString panics") }

// A mute error has a text, and its other methods panic.
type mute struct{ loaded }

func (mute) Error() string { return "it has a text" }

// A spiteful error panics with itself: to format the panic panics as well.
type spiteful struct{}

func (spiteful) Error() string { panic(spiteful{}) }

// The error or panic value of a function is user code, which may panic in turn. The run then has
// failed, it is logged, and the node goes on. So does a retry.
func TestLoadedValues(t *testing.T) {
	var typedNil *fs.PathError
	for name, test := range map[string]struct {
		fail          func() error
		outcome, text string
	}{
		"a nil pointer as error":           {func() error { return typedNil }, "failed", "an error of type *fs.PathError, whose method Error panicked: runtime error: invalid memory address"},
		"an error that panics":             {func() error { return loaded{} }, "failed", "an error of type scheduler_test.loaded, whose method Error panicked: Error panics"},
		"an error whose Is panics":         {func() error { return mute{} }, "failed", "it has a text"},
		"inside another":                   {func() error { return errors.Join(errBroken, loaded{}) }, "failed", "whose method Error panicked: Error panics"},
		"a panic with a loaded":            {func() error { panic(loaded{}) }, "panic", "panic: %!v(PANIC=Error method: Error panics)"},
		"an error that panics with itself": {func() error { return spiteful{} }, "failed", "an error of type scheduler_test.spiteful, whose method Error panicked: a scheduler_test.spiteful, whose methods panic"},
		"a panic with such an error":       {func() error { panic(spiteful{}) }, "panic", "panic: a scheduler_test.spiteful, whose methods panic"},
		"a panic with a nil error":         {func() error { panic(error(typedNil)) }, "panic", "panic: <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 1m", Retry: scheduler.Retry{Tries: 2},
					Func: func(context.Context, *scheduler.Run) error { return test.fail() }})
				c.pass(10*time.Minute + 2*time.Second)
				c.wantTally("a", "ran "+test.outcome+" 10")
				for _, l := range c.logged("run finished") {
					if text := l.keys["err"].(string); !strings.Contains(text, test.text) {
						t.Errorf("the error is %q, want %q", text, test.text)
					}
				}
			})
		})
	}
}

// A panickingHandler panics whenever it is to write a line, or to report whether it would.
type panickingHandler struct{ slog.Handler }

func (h panickingHandler) Enabled(ctx context.Context, level slog.Level) bool {
	if level == slog.LevelDebug {
		panic("Enabled panics")
	}
	return h.Handler.Enabled(ctx, level)
}

func (panickingHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "run finished" {
		panic(spiteful{})
	}
	panic("Handle panics")
}

func (h panickingHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// A logger that panics loses its lines, and affects neither the node nor the run; standard error
// reports it.
func TestLoggerPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Func: nothing}, scheduler.Job{Name: "b", Spec: "@every 1m", Func: fails})
		c.setup = func(_ int, cfg *scheduler.Config) {
			cfg.Logger = slog.New(panickingHandler{cfg.Logger.Handler()})
		}
		c.silent = true
		var said sayings
		c.stderr = &said
		c.start()
		c.pass(10*time.Minute + time.Second)
		c.wantTally("a", "ran ok 10")
		c.wantTally("b", "ran failed 10")
		said.mu.Lock()
		defer said.mu.Unlock()
		if n := len(said.all); n < 10 || n > 11 || said.all[0] != "cronce: a line of the log is lost: the logger panicked: Handle panics\n" {
			t.Errorf("standard error says %q, want a line a minute", said.all)
		}
	})
}

// sayings records each text that was written.
type sayings struct {
	mu  sync.Mutex
	all []string
}

func (s *sayings) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, string(b))
	return len(b), nil
}

func fails(context.Context, *scheduler.Run) error { return errBroken }

// The error of a function is cut, in the log and in the journal, and so is a stack.
func TestLongErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 1m", Func: func(context.Context, *scheduler.Run) error {
			return errors.New(strings.Repeat("ä", 1<<20))
		}}, scheduler.Job{Name: "b", Spec: "@every 1m", Func: func(context.Context, *scheduler.Run) error {
			panic(strings.Repeat("x", 1<<20))
		}})
		c.pass(2 * time.Minute)
		for _, n := range c.nodes {
			for _, e := range n.logs.All() {
				l := line{e, e.ContextMap()}
				for key, v := range l.keys {
					if text, _ := v.(string); len(text) > 17<<10 {
						t.Errorf("%q has %d bytes under %q", l.Message, len(text), key)
					}
				}
			}
		}
		if l := c.logged("run panicked")[0]; !strings.HasPrefix(l.keys["stack"].(string), "panic(") {
			t.Errorf("the stack begins with %.80q, want the panic", l.keys["stack"])
		}
	})
}

// Long values are cut in the errors of refused configurations.
func TestRefusalsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 10<<10)
	store := new(memlock.Store)
	name := scheduler.Job{Name: long, Spec: "@daily", Func: nothing}
	for what, cfg := range map[string]scheduler.Config{
		"a name":        {Jobs: []scheduler.Job{name}},
		"a name twice":  {Jobs: []scheduler.Job{name, name}},
		"a node's name": {Name: long},
		"a namespace":   {Namespace: long},
		"a spec":        {Jobs: []scheduler.Job{{Name: "a", Spec: long, Func: nothing}}},
		"a field":       {Jobs: []scheduler.Job{{Name: "a", Spec: "* * * * " + long, Func: nothing}}},
		"a step":        {Jobs: []scheduler.Job{{Name: "a", Spec: "*/" + long + " * * * *", Func: nothing}}},
		"an interval":   {Jobs: []scheduler.Job{{Name: "a", Spec: "@every " + long + "s", Func: nothing}}},
		"a descriptor":  {Jobs: []scheduler.Job{{Name: "a", Spec: "@" + long, Func: nothing}}},
		"a zone":        {Jobs: []scheduler.Job{{Name: "a", Spec: "CRON_TZ=" + long + " * * * * *", Func: nothing}}},
	} {
		cfg.Store = store
		if _, err := scheduler.New(cfg); err == nil || len(err.Error()) > 2<<10 {
			t.Errorf("%s of 10 kB is refused with %d bytes", what, len(err.Error()))
		}
	}
}
