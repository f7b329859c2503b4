package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/delivery"
)

// A sink is a handler that a test can make slow, or make fail. It is used in a bubble.
type sink struct {
	level  *slog.LevelVar
	asked  *int          // how often Enabled was called
	answer chan struct{} // nil: Enabled does not wait
	gate   chan struct{} // nil: lines do not wait
	fail   *func() error // called instead of writing a line; nil: the line is written
	lines  *[]string
	prefix string
}

func newSink() *sink {
	return &sink{level: new(slog.LevelVar), asked: new(int), fail: new(func() error), lines: new([]string)}
}

func (s *sink) Enabled(_ context.Context, level slog.Level) bool {
	*s.asked++
	if s.answer != nil {
		<-s.answer
	}
	return level >= s.level.Level()
}

func (s *sink) Handle(_ context.Context, r slog.Record) error {
	if s.gate != nil {
		<-s.gate
	}
	if *s.fail != nil {
		return (*s.fail)()
	}
	text := s.prefix + r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	*s.lines = append(*s.lines, text)
	return nil
}

func (s *sink) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *s
	with.prefix += fmt.Sprint(attrs) + " "
	return &with
}

func (s *sink) WithGroup(name string) slog.Handler {
	with := *s
	with.prefix += name + "."
	return &with
}

// take returns the lines since the last call.
func (s *sink) take() (lines []string) {
	synctest.Wait()
	lines, *s.lines = *s.lines, nil
	return lines
}

func (s *sink) want(t *testing.T, lines ...string) {
	t.Helper()
	if got := s.take(); !slices.Equal(got, lines) {
		t.Errorf("the lines are %q, want %q", got, lines)
	}
}

// At most 16,384 lines, with 16 MiB of text in all their parts, wait for a logger that hangs.
// Further lines displace the newest one.
func TestHandlerIsBounded(t *testing.T) {
	const part = 1 << 20
	for name, c := range map[string]struct {
		log  func(l *slog.Logger)
		most int
	}{
		"lines":      {func(l *slog.Logger) { l.Info("") }, 16_384},
		"messages":   {func(l *slog.Logger) { l.Info(long(part)) }, 16},
		"names":      {func(l *slog.Logger) { l.Info("", long(part), 0) }, 16},
		"values":     {func(l *slog.Logger) { l.Info("m", "k", long(part-2)) }, 16},
		"a bit more": {func(l *slog.Logger) { l.Info("m", "k", long(part-1)) }, 15},
		"several":    {func(l *slog.Logger) { l.Info("", "k", long(part/2-1), "l", long(part/2-1)) }, 16},
		"groups": {func(l *slog.Logger) {
			l.Info("", slog.Group("g", "a", slog.GroupValue(slog.String("k", long(part-3)))))
		}, 16},
		"computed text": {func(l *slog.Logger) {
			l.Info("m", "k", computed(func() slog.Value { return slog.StringValue(long(part - 2)) }))
		}, 16},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSink()
				s.gate = make(chan struct{})
				h := delivery.NewHandler(s)
				l := slog.New(h)
				l.Info("hangs")
				synctest.Wait()
				for range c.most {
					c.log(l)
				}
				if h.Lost() != 0 {
					t.Errorf("%d lines of %d are lost", h.Lost(), c.most)
				}
				for range 3 {
					c.log(l)
				}
				if h.Lost() != 3 {
					t.Errorf("%d lines of %d are lost, want 3", h.Lost(), c.most+3)
				}
				close(s.gate)
				synctest.Wait()
			})
		})
	}
}

var text = strings.Repeat("x", 1<<20)

func long(n int) string { return text[:n] }

// A computed is a value that its function computes.
type computed func() slog.Value

func (c computed) LogValue() slog.Value { return c() }

// Before the next line that is written comes a line with the number of lines that were lost since
// the last such line.
func TestHandlerReportsWhatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSink()
		l := slog.New(delivery.NewHandler(s))
		log := func(messages ...string) {
			for _, m := range messages {
				l.Info(m)
			}
			synctest.Wait()
		}
		does := func(f func() error) { *s.fail = f }
		log("a", "b")
		does(func() error { return errors.New("the disk is full") })
		log("c", "d", "e")
		does(nil)
		log("f", "g")
		s.want(t, "a", "b", "f", "log lines lost count=3", "g") // after f, which shows that lines are written again
		does(func() error { runtime.Goexit(); return nil })
		log("h")
		does(nil)
		log("i")
		s.want(t, "i", "log lines lost count=1")
		s.gate = make(chan struct{})
		log("j")
		for range 16_384 + 2 {
			l.Info("k")
		}
		close(s.gate)
		if lines := s.take(); len(lines) != 1+16_384+1 || lines[16_384] != "log lines lost count=2" || lines[0] != "j" {
			t.Errorf("%d lines, the last ones %q", len(lines), lines[max(0, len(lines)-3):])
		}
		s.level.Set(slog.LevelError) // the level of that line is not written
		does(func() error { return errors.New("the disk is full") })
		l.Error("l")
		synctest.Wait()
		does(nil)
		l.Error("m")
		s.want(t, "m")
		s.level.Set(slog.LevelWarn)
		l.Error("n")
		s.want(t, "log lines lost count=1", "n")
	})
}

// A value that is computed is computed when the line is logged, also inside a group. For attributes
// of the logger this happens when they are added.
func TestHandlerComputesValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSink()
		s.gate = make(chan struct{})
		now := "1"
		value := computed(func() slog.Value { return slog.StringValue(now) })
		h := delivery.NewHandler(s)
		attrs := []slog.Attr{slog.Any("with", value)}
		if h.WithAttrs(attrs); attrs[0].Value.Kind() != slog.KindLogValuer {
			t.Error("the attributes of the caller are changed")
		}
		l := slog.New(h)
		with := l.With("with", value).WithGroup("group").WithGroup("")
		now = "2"
		with.Info("m", "plain", 7, "value", value, slog.Group("g", "inner", computed(func() slog.Value { return slog.GroupValue(slog.Any("value", value)) })))
		now = "3"
		close(s.gate)
		s.want(t, "[with=1] group.m plain=7 value=2 g=[inner=[value=2]]")
		l.Info("of the first logger")
		s.want(t, "of the first logger")
	})
}

// The levels of the other handler are read on the goroutine of the queue, at most once a second,
// and Enabled returns the known levels at once. Until they are known every level may be written.
func TestHandlerKnowsLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSink()
		s.level.Set(slog.LevelWarn)
		s.answer = make(chan struct{})
		h := delivery.NewHandler(s)
		time.Sleep(time.Hour) // the levels are read when they are needed, and not before
		enabled := func(want ...bool) {
			t.Helper()
			for i, level := range []slog.Level{slog.LevelDebug - 4, slog.LevelDebug, slog.LevelInfo - 1, slog.LevelInfo, slog.LevelInfo + 1, slog.LevelError, slog.LevelError + 4} {
				if h.Enabled(t.Context(), level) != want[i] {
					t.Errorf("%v is enabled: %v, want %v", level, !want[i], want[i])
				}
			}
		}
		answered := func() {
			for range 4 {
				s.answer <- struct{}{}
			}
			synctest.Wait()
		}
		enabled(true, true, true, true, true, true, true)
		answered()
		enabled(false, false, false, false, true, true, true)
		s.level.Set(slog.LevelDebug)
		time.Sleep(time.Second - 1)
		enabled(false, false, false, false, true, true, true)
		if synctest.Wait(); *s.asked != 4 {
			t.Errorf("it was asked %d times within a second, want once for each of 4 levels", *s.asked)
		}
		time.Sleep(time.Nanosecond)
		enabled(false, false, false, false, true, true, true)
		answered()
		enabled(true, true, true, true, true, true, true)
		close(s.answer)
		s.level.Set(slog.LevelError)
		slog.New(h).Info("is enabled as far as is known") // and read again before the line is written
		s.want(t)
		if h.Lost() != 0 {
			t.Errorf("%d lines are lost, want none: it was not to be written", h.Lost())
		}
		time.Sleep(time.Second)
		slog.New(h).Error("a line") // the levels are read after it
		s.want(t, "a line")
		enabled(false, false, false, false, false, true, true)
	})
}

// A panic of the other handler costs a line. At most once a minute, the first 2 KiB of a panic are
// written to standard error.
func TestHandlerPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSink()
		h := delivery.NewHandler(s)
		var errs strings.Builder
		h.Stderr = &errs
		log := func(f func() error, want string) {
			t.Helper()
			errs.Reset()
			*s.fail = f
			slog.New(h).Info("m")
			synctest.Wait()
			if got := errs.String(); got != want {
				t.Errorf("standard error has %.99q, %d bytes, want %.99q, %d bytes", got, len(got), want, len(want))
			}
		}
		const begins = "cronce: a line of the log is lost: the logger "
		log(func() error { panic("first") }, begins+"panicked: first\n")
		time.Sleep(time.Minute - 1)
		log(func() error { panic("second") }, "")
		time.Sleep(time.Nanosecond)
		log(func() error { runtime.Goexit(); return nil }, begins+"ended its goroutine\n")
		time.Sleep(time.Minute)
		log(func() error { panic(long(3 << 10)) }, begins+"panicked: "+long(2<<10-len("panicked: "))+" …\n")
		time.Sleep(time.Minute)
		log(func() error { return errors.New("the disk is full") }, "")
		log(nil, "")
		s.want(t, "m", "log lines lost count=5")
	})
}

// NewHandler returns a Handler unchanged, so that its lines have one queue. It starts nothing.
func TestHandlerOfAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSink()
		h := delivery.NewHandler(s)
		if delivery.NewHandler(h) != h {
			t.Error("it has a queue of its own")
		}
		derived := h.WithAttrs([]slog.Attr{slog.Int("n", 1)}).(*delivery.Handler)
		if again := delivery.NewHandler(derived); again != derived {
			t.Error("one that was derived has a queue of its own")
		}
		derived.Report() // its attributes are used for the lines about lost lines
		*s.fail = func() error { return errors.New("the disk is full") }
		slog.New(h).Info("a")
		synctest.Wait()
		*s.fail = nil
		slog.New(h).Info("b")
		s.want(t, "b", "[n=1] log lines lost count=1")
	})
}
