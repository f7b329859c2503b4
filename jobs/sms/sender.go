package sms

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/cronce/cronce/scheduler"
)

// A sender sends what is due, a handful at a time: it takes a handful, sends it,
// marks it, and takes the next. So no more than a handful is ever in doubt.
type sender struct {
	outbox      *Outbox
	gateway     Gateway
	batch       int
	concurrency int
	attempts    int
}

// work is what a sender needs of a run.
type work struct {
	holder Holder
	check  func() error
	log    *zap.Logger
}

// may returns nil while the run may make requests.
func (w work) may(ctx context.Context) error {
	err := context.Cause(ctx)
	if err == nil {
		err = w.check()
	}
	if err != nil {
		return fmt.Errorf("sms: send: %w", err)
	}
	return nil
}

func (s *sender) run(ctx context.Context, run *scheduler.Run) error {
	return s.deliver(ctx, work{Holder{Run: run.ID, Fence: run.Fence}, run.Check, run.Logger()})
}

// deliver sends up to a batch. Its error names the first message that has to wait
// for another run, or what ended this one.
func (s *sender) deliver(ctx context.Context, w work) error {
	var sum tally
	if err := s.handfuls(ctx, w, &sum); err != nil {
		sum.log(w.log)
		return err
	}
	sum.log(w.log)
	if _, err := s.outbox.Trim(ctx); err != nil {
		w.log.Warn("old messages not forgotten", zap.Error(err))
	}
	return sum.err()
}

func (s *sender) handfuls(ctx context.Context, w work, sum *tally) error {
	for sum.taken < s.batch {
		if err := w.may(ctx); err != nil {
			return err
		}
		pieces, err := s.outbox.Take(ctx, w.holder, min(s.concurrency, s.batch-sum.taken))
		if err != nil || len(pieces) == 0 {
			return err
		}
		marks := s.sendAll(ctx, w, pieces)
		if err := s.markAll(ctx, w.holder, marks); err != nil {
			return err
		}
		if !sum.add(marks) {
			return w.may(ctx)
		}
	}
	return nil
}

// sendAll sends pieces at the same time and returns a mark for each.
func (s *sender) sendAll(ctx context.Context, w work, pieces []Piece) []Mark {
	marks := make([]Mark, len(pieces))
	var group sync.WaitGroup
	for i, p := range pieces {
		marks[i] = p.Retry(delay(p.Attempt), 1, "the gateway ended its goroutine")
		group.Go(func() { marks[i] = s.mark(p, s.send(ctx, w, p)) })
	}
	group.Wait()
	return marks
}

// markAll records what happened, also when the run has just ended: what was sent
// must not be sent again.
func (s *sender) markAll(ctx context.Context, h Holder, marks []Mark) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
	defer cancel()
	return s.outbox.Mark(ctx, h, marks...)
}

// A tally is what a run came to.
type tally struct {
	taken, sent, failed, waiting int
	first                        Mark // that has to wait
	refused                      []Mark
}

// add counts a handful and reports whether another makes sense: not when none of
// it got through, as when the gateway is down, or when the run has ended.
func (t *tally) add(marks []Mark) bool {
	through := 0
	t.taken += len(marks)
	for _, m := range marks {
		switch m.outcome {
		case "sent":
			t.sent++
			through++
		case "failed":
			t.failed++
			through++
			t.refused = append(t.refused, m)
		case "retry":
			if t.waiting++; t.waiting == 1 {
				t.first = m
			}
		case "back":
			t.taken--
		}
	}
	return through > 0
}

func (t *tally) log(log *zap.Logger) {
	for _, m := range t.refused {
		log.Warn("message failed", zap.Object("message", m.piece.Message),
			zap.String("reason", clean(m.reason, m.piece.Message.To)))
	}
	if t.taken > 0 {
		log.Info("messages sent", zap.Int("sent", t.sent), zap.Int("failed", t.failed), zap.Int("waiting", t.waiting))
	}
}

func (t *tally) err() error {
	if t.waiting == 0 {
		return nil
	}
	m := t.first
	return fmt.Errorf("sms: send: %d of %d messages have to wait; %q: %s, due again in %v",
		t.waiting, t.taken, m.piece.Message.ID, clean(m.reason, m.piece.Message.To), m.delay.Round(time.Millisecond))
}
