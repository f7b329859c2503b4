package opscommands

import (
	"context"
	"log/slog"
	"time"

	"github.com/cronce/cronce/ops"
)

// reminder is how often the log repeats that the store does not answer.
const reminder = time.Minute

// logStore logs that the store does not answer, again each minute, and that it answers again, until ctx ends. A node logs the
// same lines.
func logStore(ctx context.Context, p *ops.Projection, log *slog.Logger) {
	var logged time.Time // zero: the store answers
	for seen := p.Peek(); ; {
		now, err := p.Await(ctx, seen)
		if err != nil {
			return
		}
		switch seen = now; {
		case now.Down != "" && time.Since(logged) >= reminder:
			logged = time.Now()
			log.Warn("store unreachable", "err", now.Down, "since", now.DownSince.UTC().Format(time.RFC3339))
		case now.Down == "" && !logged.IsZero():
			logged = time.Time{}
			log.Info("store back")
		}
	}
}
