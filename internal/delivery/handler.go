package delivery

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/internal/panictext"
)

// The limits of the lines that wait for a logger: about 8 MiB of records, and the texts in them.
const (
	mostLines = 16_384
	mostText  = 16 << 20
)

// The message of the line about lost lines.
const linesLost = "log lines lost"

// A Handler is a slog.Handler that queues lines for another handler, and calls that handler only on
// the goroutine of the queue: Handle, Enabled, WithAttrs and WithGroup never wait for it. A call
// that hangs, panics, ends its goroutine or returns an error costs lines, which are counted. Before
// the next line that is written comes a line "log lines lost" with their number. Each line has the
// time at which it was logged.
//
// The levels of the other handler are read at most once a second, with the background context. A
// slog.LogValuer is evaluated at once. Other values are read when the line is written, so they must
// not change after they were logged.
type Handler struct {
	*lines
	to *derived
}

// lines are the state that all handlers derived from one share.
type lines struct {
	*Queue[line]
	Stderr io.Writer // gets the panics of the handler, once a minute. Nil: os.Stderr. Set it before use

	begin  time.Time
	asked  atomic.Int64            // when the levels were last read, since begin; 0: never
	levels atomic.Uint32           // a bit for each level that is written
	report atomic.Pointer[derived] // writes linesLost

	// The following fields are used only on the goroutine of the queue.
	reported int64 // how many lost lines the log has reported
	flows    bool  // the last line was written
	broken   time.Time
}

// A line is a record to be written; without a message it only makes the levels be read.
type line struct {
	to     *derived
	ctx    context.Context
	record slog.Record
}

// NewHandler returns a Handler for to. If to is a Handler, it returns to: its lines have one queue.
// NewHandler starts nothing and does not call to.
func NewHandler(to slog.Handler) *Handler {
	if h, is := to.(*Handler); is {
		return h
	}
	l := &lines{begin: time.Now(), flows: true}
	l.levels.Store(allLevels)
	l.Queue = New(mostLines, mostText, l.write, l.panicked)
	h := &Handler{lines: l, to: &derived{handler: to}}
	l.report.Store(h.to)
	return h
}

// Report makes h the handler of the lines about lost lines.
func (h *Handler) Report() { h.lines.report.Store(h.to) }

var levels = [...]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

const allLevels = 1<<len(levels) - 1

// levelsFor is how long the levels are used before they are read again.
const levelsFor = time.Second

// Enabled reports whether lines of a level may be written, as far as is known. The goroutine of the
// queue checks the level again before it writes a line.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool {
	if h.due() {
		h.refresh()
	}
	i := 0
	for i < len(levels)-1 && levels[i] < level {
		i++
	}
	return h.levels.Load()&(1<<i) != 0
}

// Handle queues a line.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	size := len(r.Message)
	changed := false
	r.Attrs(func(a slog.Attr) bool {
		changed = changed || unsettled(a.Value)
		size += sizeOf(a)
		return true
	})
	if changed {
		plain := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
		size = len(r.Message)
		r.Attrs(func(a slog.Attr) bool {
			a = settled(a)
			plain.AddAttrs(a)
			size += sizeOf(a)
			return true
		})
		r = plain
	} else {
		r = r.Clone()
	}
	h.Add(line{h.to, ctx, r}, size)
	return nil
}

// WithAttrs returns a Handler whose lines have more attributes.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	attrs = slices.Clone(attrs)
	for i, a := range attrs {
		attrs[i] = settled(a)
	}
	return &Handler{h.lines, &derived{from: h.to, attrs: attrs}}
}

// WithGroup returns a Handler whose lines have their attributes in a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &Handler{h.lines, &derived{from: h.to, group: name}}
}

// unsettled reports whether a value must be computed before it can be read.
func unsettled(v slog.Value) bool {
	return v.Kind() == slog.KindLogValuer ||
		v.Kind() == slog.KindGroup && slices.ContainsFunc(v.Group(), func(a slog.Attr) bool { return unsettled(a.Value) })
}

// settled returns an attribute with its values computed.
func settled(a slog.Attr) slog.Attr {
	if !unsettled(a.Value) {
		return a
	}
	a.Value = a.Value.Resolve()
	if a.Value.Kind() == slog.KindGroup {
		group := slices.Clone(a.Value.Group())
		for i := range group {
			group[i] = settled(group[i])
		}
		a.Value = slog.GroupValue(group...)
	}
	return a
}

// sizeOf returns how many bytes of text an attribute has.
func sizeOf(a slog.Attr) int {
	size := len(a.Key)
	switch a.Value.Kind() {
	case slog.KindString:
		size += len(a.Value.String())
	case slog.KindGroup:
		for _, inner := range a.Value.Group() {
			size += sizeOf(inner)
		}
	}
	return size
}

// A derived creates a handler when the first line is written with it. It is used only on the
// goroutine of the queue.
type derived struct {
	from    *derived
	attrs   []slog.Attr
	group   string
	handler slog.Handler // it has not been created yet
}

func (d *derived) get() slog.Handler {
	if d.handler == nil {
		if from := d.from.get(); d.group != "" {
			d.handler = from.WithGroup(d.group)
		} else {
			d.handler = from.WithAttrs(d.attrs)
		}
	}
	return d.handler
}

// write writes a line, and before it the number of lines that were lost.
func (l *lines) write(n line, lost int64) (taken bool) {
	if l.due() {
		defer l.readLevels()
	}
	if n.to == nil {
		return true
	}
	to := n.to.get()
	if !to.Enabled(n.ctx, n.record.Level) {
		return true
	}
	if l.flows {
		l.reportLost(lost)
	}
	if l.handle(to, n.ctx, n.record) {
		l.reportLost(lost)
		return true
	}
	return false
}

// due reports whether the levels must be read again.
func (l *lines) due() bool {
	asked := l.asked.Load()
	return asked == 0 || time.Since(l.begin)-time.Duration(asked) >= levelsFor
}

// refresh has the queue read the levels. It is not inlined: its frame holds a whole line, which would
// grow the stack of each goroutine that only asks for a level.
//
//go:noinline
func (l *lines) refresh() { l.AddIdle(line{}) }

// readLevels reads the levels that the handler writes.
func (l *lines) readLevels() {
	l.asked.Store(max(1, int64(time.Since(l.begin))))
	written := uint32(0)
	for i, level := range levels {
		if l.enabled(level) {
			written |= 1 << i
		}
	}
	l.levels.Store(written)
}

// enabled reports whether the handler writes lines of a level. If it panics, it is called again
// with the next line, which is then lost.
func (l *lines) enabled(level slog.Level) (is bool) {
	defer func() {
		if recover() != nil {
			is = true
		}
	}()
	return l.report.Load().get().Enabled(context.Background(), level)
}

// handle writes a line, and reports whether it succeeded. It records the success only after the
// call, which may not return.
func (l *lines) handle(to slog.Handler, ctx context.Context, r slog.Record) bool {
	l.flows = false
	l.flows = to.Handle(ctx, r) == nil
	return l.flows
}

// reportLost writes the number of lost lines that the log has not reported yet.
func (l *lines) reportLost(lost int64) {
	to := l.report.Load().get()
	if lost == l.reported || !to.Enabled(context.Background(), slog.LevelWarn) {
		return
	}
	r := slog.NewRecord(time.Now(), slog.LevelWarn, linesLost, 0)
	r.AddAttrs(slog.Int64("count", lost-l.reported))
	if l.handle(to, context.Background(), r) {
		l.reported = lost
	}
}

// mostPanic is how much of a panic is printed, and panicPause the time in which further panics are
// not printed.
const (
	mostPanic  = 2 << 10
	panicPause = time.Minute
)

// panicked writes a panic of the handler to standard error.
func (l *lines) panicked(v any) {
	now := time.Now()
	if now.Sub(l.broken) < panicPause {
		return
	}
	l.broken = now
	what := "ended its goroutine"
	if v != nil {
		if what = "panicked: " + panictext.Of(v); len(what) > mostPanic {
			what = strings.ToValidUTF8(what[:mostPanic], "") + " …"
		}
	}
	to := l.Stderr
	if to == nil {
		to = os.Stderr
	}
	fmt.Fprintln(to, "cronce: a line of the log is lost: the logger", what)
}
