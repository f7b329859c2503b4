package sms

import (
	"context"
	"log/slog"
	"time"
)

// Names for the tests of this package alone.
var (
	Clean = clean
	Delay = delay
)

// QuietEnd is when quiet hours end for a message; zero if it is not quiet.
func QuietEnd(q QuietHours, m Message, t time.Time) time.Time { return q.end(m, t) }

// Deliver is one run of the job, with a lease that the test decides about.
func Deliver(ctx context.Context, o *Outbox, g Gateway, h Holder, check func() error, log *slog.Logger, options ...Option) error {
	return newSender(o, g, options...).deliver(ctx, work{holder: h, check: check, log: log})
}

// ParsedStatus reads a status line.
func ParsedStatus(line string) (Record, error) {
	s, err := parseStatus(line)
	return s.Record, err
}
