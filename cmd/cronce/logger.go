package main

import (
	"io"
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// The keys that each line of the JSON log has.
const (
	logTime    = "ts"
	logLevel   = "level"
	logMessage = "msg"
)

// newLogger logs to w: JSON for machines, or lines for a person.
func newLogger(c logConfig, w io.Writer) *zap.Logger {
	level, err := zapcore.ParseLevel(c.Level)
	if err != nil {
		level = zapcore.InfoLevel // config.faults has refused it
	}
	out := zapcore.Lock(zapcore.AddSync(w))
	if c.Format == "console" || c.Format == "auto" && isTerminal(w) {
		return zap.New(&consoleCore{LevelEnabler: level, out: out, painter: newPainter(w)})
	}
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{
		TimeKey: logTime, LevelKey: logLevel, MessageKey: logMessage,
		EncodeLevel:    zapcore.LowercaseLevelEncoder,
		EncodeDuration: zapcore.StringDurationEncoder,
		EncodeTime: func(t time.Time, enc zapcore.PrimitiveArrayEncoder) {
			enc.AppendString(t.UTC().Format("2006-01-02T15:04:05.000Z"))
		},
	}), zapcore.AddSync(printableJSON{out}), level))
}

// A consoleCore writes lines for a person.
type consoleCore struct {
	zapcore.LevelEnabler
	out     zapcore.WriteSyncer
	painter *painter
	fields  []zapcore.Field
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
	l := logLine{at: e.Time, level: e.Level.String(), message: e.Message, fields: enc.Fields}
	_, err := io.WriteString(c.out, l.render(c.painter)+"\n")
	return err
}

func (c *consoleCore) Sync() error { return c.out.Sync() }
