package terminal

import (
	"bytes"
	"context"
	"io"
	stdlog "log"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/internal/delivery"
)

// The keys that each line of the JSON log has.
const (
	logTime    = "ts"
	logLevel   = "level"
	logMessage = "msg"
)

// timeFormat is how the JSON log writes times, in UTC.
const timeFormat = "2006-01-02T15:04:05.000Z"

// flushTime is how long a process waits at its end for the lines of its log.
const flushTime = 3 * time.Second

// NewLogger returns a zap logger that writes to w from a level on: JSON for machines in the format
// "json", lines for a person in "console", and in "auto" lines for a person if w is a terminal. Its
// lines are queued, so no caller waits for w, which may be a pipe that is not read. Flush waits up
// to three seconds for the queued lines. Call it at the end of the process.
func NewLogger(minimum, format string, w io.Writer) (log *slog.Logger, flush func()) {
	h := delivery.NewHandler(handler(minimum, format, w))
	return slog.New(h), func() {
		ctx, stop := context.WithTimeout(context.Background(), flushTime)
		defer stop()
		h.Wait(ctx)
	}
}

// ServerLog returns a logger for an HTTP server: its errors become lines of log.
func ServerLog(log *slog.Logger) *stdlog.Logger { return stdlog.New(serverLog{log}, "", 0) }

type serverLog struct{ to *slog.Logger }

func (s serverLog) Write(text []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.HasPrefix(text, []byte("http: TLS handshake error")) {
		level = slog.LevelDebug // any scanner can cause one for each of its connections
	}
	s.to.Log(context.Background(), level, "http fault", slog.String("text", strings.TrimSpace(string(text))))
	return len(text), nil
}

// handler returns a handler that writes the lines of the log on one goroutine.
func handler(minimum, format string, w io.Writer) slog.Handler {
	level, _ := zapcore.ParseLevel(minimum) // the configuration allows no other name
	out := zapcore.AddSync(w)
	if format == "console" || format == "auto" && IsTerminal(w) {
		return zapHandler(&consoleCore{LevelEnabler: level, out: out, style: NewStyle(w)})
	}
	return zapHandler(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{
		TimeKey: logTime, LevelKey: logLevel, MessageKey: logMessage,
		EncodeLevel:    zapcore.LowercaseLevelEncoder,
		EncodeDuration: zapcore.StringDurationEncoder,
		EncodeTime: func(t time.Time, enc zapcore.PrimitiveArrayEncoder) {
			enc.AppendString(t.UTC().Format(timeFormat))
		},
	}), zapcore.AddSync(jsonWriter{out}), level))
}

// zapHandler returns a handler that writes lines with zap. It adds no stack traces, because a line
// is about a node and its jobs, not about the code.
func zapHandler(core zapcore.Core) slog.Handler {
	return zapslog.NewHandler(core, zapslog.AddStacktraceAt(math.MaxInt))
}

// A consoleCore writes lines for a person.
type consoleCore struct {
	zapcore.LevelEnabler
	out    zapcore.WriteSyncer
	style  *Style
	fields []zapcore.Field
}

func (c *consoleCore) With(fields []zapcore.Field) zapcore.Core {
	with := *c
	with.fields = append(slices.Clip(c.fields), fields...)
	return &with
}

func (c *consoleCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
}

func (c *consoleCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range c.fields {
		f.AddTo(enc)
	}
	for _, f := range fields {
		f.AddTo(enc)
	}
	l := LogLine{At: e.Time, Level: e.Level.String(), Message: e.Message, Fields: enc.Fields}
	_, err := io.WriteString(c.out, l.Render(c.style)+"\n")
	return err
}

func (c *consoleCore) Sync() error { return c.out.Sync() }
