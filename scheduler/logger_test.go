package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"regexp"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/scheduler"
)

// zapLogger passes a zap logger to a node as a program would.
func zapLogger(core zapcore.Core) *slog.Logger {
	return slog.New(zapslog.NewHandler(core, zapslog.AddStacktraceAt(math.MaxInt)))
}

// A hooked handler calls hook before it writes a line of at least a level.
type hooked struct {
	slog.Handler
	least slog.Level
	hook  func(message string)
}

func (h hooked) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.least && h.Handler.Enabled(ctx, level)
}

func (h hooked) Handle(ctx context.Context, r slog.Record) error {
	h.hook(r.Message)
	return h.Handler.Handle(ctx, r)
}

func (h hooked) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

// withHook returns a logger that calls hook with the message of each line.
func withHook(log *slog.Logger, hook func(message string)) *slog.Logger {
	return slog.New(hooked{log.Handler(), slog.LevelDebug, hook})
}

// slowAt returns a logger that takes ten seconds for each line with a message.
func slowAt(log *slog.Logger, slow string) *slog.Logger {
	return withHook(log, func(message string) {
		if message == slow {
			time.Sleep(10 * time.Second)
		}
	})
}

// A node writes the same lines, byte for byte except for the frame of the encoder, to the JSON
// handler of the standard library and to zap.
func TestLinesOfEveryLogger(t *testing.T) {
	for name, logger := range map[string]func(*bytes.Buffer) *slog.Logger{
		"slog": func(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewJSONHandler(b, nil)) },
		"zap": func(b *bytes.Buffer) *slog.Logger {
			encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"})
			return zapLogger(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(b)), zap.InfoLevel))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Func: func(_ context.Context, run *scheduler.Run) error {
					run.Logger().Info("working")
					return errBroken
				}})
				c.silent = true
				var b bytes.Buffer
				c.setup = func(_ int, cfg *scheduler.Config) { cfg.Logger = logger(&b) }
				n := c.start()
				c.pass(time.Minute + time.Second)
				if err := n.drain(); err != nil {
					t.Error(err)
				}
				got := regexp.MustCompile(`"time":"[^"]*","level":"[A-Z]*",`).ReplaceAllString(b.String(), "")
				got = regexp.MustCompile(`"fence":\d+`).ReplaceAllString(got, `"fence":1`)
				got = regexp.MustCompile(`node0-[0-9a-f]{8}`).ReplaceAllString(got, "node0")
				const want = `{"msg":"node started","node":"node0"}
{"msg":"run started","node":"node0","job":"a","tick":"2000-01-01T00:01:00.000Z","attempt":1,"fence":1,"late_ms":0}
{"msg":"working","node":"node0","job":"a","tick":"2000-01-01T00:01:00.000Z","attempt":1,"fence":1}
{"msg":"run finished","node":"node0","job":"a","tick":"2000-01-01T00:01:00.000Z","attempt":1,"fence":1,"outcome":"failed","took_ms":0,"err":"broken"}
{"msg":"node draining","node":"node0"}
{"msg":"node stopped","node":"node0"}
`
				if got != want {
					t.Errorf("logged\n%s, want\n%s", got, want)
				}
			})
		})
	}
}

// The runs of a quiet job that end ok are logged at level debug, and its other runs as usual.
func TestQuietJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fails := func(context.Context, *scheduler.Run) error { return errors.New("it rains") }
		c := plan(t, scheduler.Job{Name: "calm", Spec: "@every 1s", Func: nothing, Quiet: true}, scheduler.Job{Name: "fails", Spec: "@every 1s", Func: fails, Quiet: true},
			scheduler.Job{Name: "loud", Spec: "@every 1s", Func: nothing})
		c.start()
		c.pass(3500 * time.Millisecond)
		for _, test := range []struct {
			message, job string
			level        zapcore.Level
		}{
			{"run started", "calm", zap.DebugLevel}, {"run started", "fails", zap.DebugLevel}, {"run started", "loud", zap.InfoLevel},
			{"run finished", "calm", zap.DebugLevel}, {"run finished", "fails", zap.ErrorLevel}, {"run finished", "loud", zap.InfoLevel},
		} {
			lines := c.logged(test.message, "job", test.job)
			for _, l := range lines {
				if l.Level != test.level {
					t.Errorf("%s of %s at level %v, want %v", test.message, test.job, l.Level, test.level)
				}
			}
			if len(lines) < 3 {
				t.Errorf("%d lines %q of %s", len(lines), test.message, test.job)
			}
		}
	})
}
