package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// Neither the log nor Observers, the journal and the outputs get a secret from the error, the panic
// or the output of a run, even if the text is cut in it.
func TestSecretsAreMasked(t *testing.T) {
	const secret = "hunter2hunter2"
	job := func(name string, f scheduler.Func) scheduler.Job {
		return scheduler.Job{Name: name, Spec: "@every 1s", Retry: scheduler.Retry{Tries: 2, Wait: time.Millisecond}, Func: f}
	}
	bubble(t, func(t *testing.T) {
		store, events, log := memlock.New(memlock.Options{}), &eventLog{}, &sayings{}
		jobs := []scheduler.Job{
			job("error", func(_ context.Context, r *scheduler.Run) error {
				r.KeepOutput("password=" + secret + "\n" + strings.Repeat("x\n", 8<<10-5))
				return fmt.Errorf("connecting: %w", errors.New(`parse "redis://user:`+secret+`/@host": invalid port`))
			}),
			job("long", func(context.Context, *scheduler.Run) error {
				return errors.New(strings.Repeat("x", 490) + " redis://user:" + secret + "@host" + strings.Repeat("x", 1<<20))
			}),
			job("longer", func(context.Context, *scheduler.Run) error {
				return errors.New(strings.Repeat("x", 4070) + " redis://user:" + secret + "@host")
			}),
			job("panic", func(context.Context, *scheduler.Run) error { panic("Bearer " + secret) }),
			job("skip", func(context.Context, *scheduler.Run) error { return scheduler.Skip("token=" + secret) }),
		}
		n, err := scheduler.New(scheduler.Config{Store: store, Jobs: jobs, Logger: slog.New(slog.NewJSONHandler(log, nil)), Observers: []scheduler.Observer{events}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer stop()
		if err := n.Run(ctx); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		texts := log.all
		for _, e := range events.all {
			texts = append(texts, e.Err)
		}
		masked := 0
		for _, job := range jobs {
			j, err := store.Journal(t.Context(), job.Name, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range j.Lines {
				texts = append(texts, line.Error)
				if o, _ := store.Output(t.Context(), job.Name, line.To); o.Text != "" {
					texts = append(texts, o.Text)
				}
				if line.Outcome != "" && strings.Contains(line.Error, "[mask") {
					masked++
				}
			}
		}
		for _, text := range texts {
			if strings.Contains(text, "hun") || strings.Contains(text, "er2") {
				t.Errorf("a secret is shown: %.2000q", text)
			}
		}
		if got := strings.Count(strings.Join(texts, ""), "[mask"); masked != 4 || got < 14 { // the cut of longer is in the log alone
			t.Errorf("%d lines of journals are masked, and %d texts", masked, got)
		}
	})
}
