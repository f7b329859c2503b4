package sms

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"github.com/cronce/cronce/scheduler"
)

// A sender sends due messages. Its runs take at most a window of messages at a time, which bounds
// the messages in doubt: see flow.
type sender struct {
	outbox      *Outbox
	gateway     Gateway
	batch       int
	concurrency int
	attempts    int
	pace        *rate.Limiter // of requests, for all runs of this process
}

// work is the part of a run that a sender uses.
type work struct {
	holder Holder
	check  func() error
	log    *slog.Logger
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

// deliver sends up to a batch. Its error names the first message that has to wait for another run,
// or is the reason why this run ended.
func (s *sender) deliver(ctx context.Context, w work) error {
	var sum tally
	f := newFlow(ctx, s, w, &sum)
	err := f.run(ctx)
	if err == nil {
		err = s.pauseAfter(ctx, w, &sum)
	}
	sum.log(w.log)
	if err != nil {
		return err
	}
	s.trim(ctx, w)
	return sum.err()
}

// trim deletes old messages in steps, so that no script blocks the store for long.
func (s *sender) trim(ctx context.Context, w work) {
	for range trimSteps {
		n, err := s.outbox.Trim(ctx)
		if err != nil {
			w.log.Warn("old messages not deleted", slog.Any("error", err))
		}
		if err != nil || n < trimAtOnce {
			return
		}
	}
}

// pauseAfter pauses the gateway if it has refused the sender, and ends its pauses if not.
func (s *sender) pauseAfter(ctx context.Context, w work, sum *tally) error {
	if sum.refused == 0 && sum.through == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
	defer cancel()
	switch {
	case sum.tried > 0 && !sum.ours(): // the pause stays, with the same end
		return nil
	case sum.certain || sum.through == 0 || sum.streak >= doubtMessages:
		n := sum.count() + 1
		if err := s.outbox.pause(ctx, w.holder, sum.pause(), n, sum.reason(), !sum.ours()); err != nil {
			return err
		}
	case sum.pauses > 0:
		return s.outbox.pause(ctx, w.holder, 0, 0, "", false)
	}
	return nil
}

// markAll records the results even if the run has just ended: sent messages must not be sent again.
func (s *sender) markAll(ctx context.Context, h Holder, marks []Mark) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
	defer cancel()
	return s.outbox.Mark(ctx, h, marks...)
}

// Bounds for a run in which no message gets through and the reason is unknown: messages behind the
// failing ones must not wait for them.
const (
	doubtMessages = 100
	doubtTime     = 10 * time.Second
)

// A tally is the sum of a run.
type tally struct {
	taken, sent, failed, waiting int // taken excludes messages that expired
	expired                      int
	first                        Mark // the first message that has to wait
	lost                         []Mark

	pauses  int           // pauses before this run, since a message got through
	tried   time.Duration // rest of the pause in doubt in which a message was tried; 0: none
	through int           // messages that were accepted or finally refused
	refused int           // messages that were neither
	streak  int           // of these, the ones since a message got through
	certain bool          // the gateway has refused the sender and not a message
	said    string        // the error of that refusal
	unsure  bool          // some refused messages may have been accepted
	after   time.Duration // the longest Retry-After of the refusals
}

// judge counts the gateway's reply to a piece.
func (t *tally) judge(p Piece, x *exchange) {
	e := x.refusal()
	switch {
	case x.made == 0:
	case e == nil:
		t.through++
		t.streak = 0
	default:
		t.refused++
		t.streak++
		if e.Pause && !t.certain {
			t.certain, t.said = true, clean(x.err.Error(), p.Message.To)
		}
		t.unsure = t.unsure || x.unsure > 0
		t.after = max(t.after, e.After)
	}
}

// count is the number of pauses since a message got through.
func (t *tally) count() int {
	if t.through > 0 {
		return 0
	}
	return t.pauses
}

// reason returns the reason of a pause: others may have to wait for reasons of their own.
func (t *tally) reason() string {
	return cmp.Or(t.said, clean(t.first.reason, t.first.piece.Message.To))
}

// ours reports whether the gateway has certainly refused the sender: it has said so, or has asked
// for time.
func (t *tally) ours() bool { return t.certain || t.after > 0 }

// pause returns the length of the pause, as far as the run knows.
func (t *tally) pause() time.Duration {
	if t.tried > 0 && !t.ours() {
		return t.tried
	}
	return pauseAfter(t.count(), t.after, t.unsure)
}

// doubtful reports whether no message got through for so long that the gateway must be the reason.
// If a gateway asks for time, it is the reason anyway, unless others get through.
func (t *tally) doubtful(spent time.Duration) bool {
	return t.certain || t.streak >= doubtMessages || t.through == 0 && (t.after > 0 || spent >= doubtTime)
}

// add counts marks and reports whether the run should take more: not if all pieces were put back,
// as after the end of the run.
func (t *tally) add(marks []Mark) bool {
	done := 0
	t.taken += len(marks)
	for _, m := range marks {
		switch m.outcome {
		case "sent":
			t.sent++
		case "failed":
			t.failed++
			t.lost = append(t.lost, m)
		case "retry", "wait":
			if t.waiting++; t.waiting == 1 {
				t.first = m
			}
		case "expired":
			t.taken--
			t.expired++
		case "back":
			t.taken--
			done--
		}
		done++
	}
	return done > 0
}

func (t *tally) log(log *slog.Logger) {
	for _, m := range t.lost {
		log.Warn("message failed", slog.Any("message", m.piece.Message),
			slog.String("reason", clean(m.reason, m.piece.Message.To)))
	}
	if t.taken+t.expired > 0 {
		log.Info("messages sent", slog.Int("sent", t.sent), slog.Int("failed", t.failed), slog.Int("waiting", t.waiting),
			slog.Int("expired", t.expired))
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
