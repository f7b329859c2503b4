package sms

import (
	"context"
	"log/slog"
)

// Names for the tests of this package alone.
var (
	Clean = clean
	Delay = delay

	PauseGateway = (*Outbox).pause
)

// Deliver is one run of the job, with a lease that the test decides about.
func Deliver(ctx context.Context, o *Outbox, g Gateway, h Holder, check func() error, log *slog.Logger, options ...Option) error {
	return newSender(o, g, options...).deliver(ctx, work{holder: h, check: check, log: log})
}

// ParsedStatus reads a status line.
func ParsedStatus(line string) (Record, error) {
	s, err := parseStatus(line)
	return s.Record, err
}
