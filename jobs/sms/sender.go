package sms

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"github.com/cronce/cronce/scheduler"
)

// A sender sends what is due. Its runs take no more than a window of messages at a time, so
// that no more are ever in doubt: see flow.
type sender struct {
	outbox      *Outbox
	gateway     Gateway
	batch       int
	concurrency int
	attempts    int
	quiet       QuietHours
	pace        *rate.Limiter // of requests; over all runs of this process
}

// work is what a sender needs of a run.
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

// deliver sends up to a batch. Its error names the first message that has to wait
// for another run, or what ended this one.
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

// trim forgets old messages, in steps, so that no script holds the store for long.
func (s *sender) trim(ctx context.Context, w work) {
	for range trimSteps {
		n, err := s.outbox.Trim(ctx)
		if err != nil {
			w.log.Warn("old messages not forgotten", slog.Any("error", err))
		}
		if err != nil || n < trimAtOnce {
			return
		}
	}
}

// pauseAfter leaves the gateway alone for a while if it has refused us, and ends its
// pauses if it has not.
func (s *sender) pauseAfter(ctx context.Context, w work, sum *tally) error {
	if sum.refused == 0 && sum.through == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
	defer cancel()
	switch {
	case sum.tried > 0 && !sum.ours(): // the pause stands, and its end is no later
		return nil
	case sum.certain || sum.through == 0 || sum.streak >= doubtMessages:
		n := sum.count() + 1
		if err := s.outbox.pause(ctx, w.holder, sum.pause(), n, clean(sum.first.reason, sum.first.piece.Message.To), !sum.ours()); err != nil {
			return err
		}
	case sum.pauses > 0:
		return s.outbox.pause(ctx, w.holder, 0, 0, "", false)
	}
	return nil
}

// markAll records what happened, also when the run has just ended: what was sent
// must not be sent again.
func (s *sender) markAll(ctx context.Context, h Holder, marks []Mark) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
	defer cancel()
	return s.outbox.Mark(ctx, h, marks...)
}

// How long a run goes on while nothing gets through and it is not sure that the gateway
// is the reason: a message behind those that fail shall not have to wait for them.
const (
	doubtMessages = 100
	doubtTime     = 10 * time.Second
)

// A tally is what a run came to.
type tally struct {
	taken, sent, failed, waiting int // taken: without those that expired or must leave later
	expired, later               int
	first                        Mark // that has to wait
	lost                         []Mark

	pauses  int           // before this run, since a message got through
	tried   time.Duration // left of the pause in doubt in which a message was tried; 0: there is none
	through int           // requests that were answered for good or bad
	refused int           // messages that were neither
	streak  int           // of them, those since the last that got through
	certain bool          // the gateway has refused us and not a message
	unsure  bool          // some of refused may have been accepted
	after   time.Duration // the longest Retry-After of what makes the pause
}

// judge counts how the gateway answered for a message.
func (t *tally) judge(x *exchange) {
	e := x.refusal()
	switch {
	case x.made == 0:
	case e == nil:
		t.through++
		t.streak = 0
	default:
		t.refused++
		t.streak++
		t.certain = t.certain || e.Pause
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

// ours reports whether it is certain that the gateway has refused us: it has said so, or has
// asked for time.
func (t *tally) ours() bool { return t.certain || t.after > 0 }

// pause is how long the gateway is left alone, as far as the run knows.
func (t *tally) pause() time.Duration {
	if t.tried > 0 && !t.ours() {
		return t.tried
	}
	return pauseAfter(t.count(), t.after, t.unsure)
}

// doubtful reports whether nothing got through for so long that the gateway must be the
// reason. A gateway that asks for time has said so itself, unless others get through.
func (t *tally) doubtful(spent time.Duration) bool {
	return t.certain || t.streak >= doubtMessages || t.through == 0 && (t.after > 0 || spent >= doubtTime)
}

// add counts marks and reports whether to take more makes sense: not when all were given
// back, as when the run has ended.
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
		case "later":
			t.taken--
			t.later++
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
	if t.taken+t.expired+t.later > 0 {
		log.Info("messages sent", slog.Int("sent", t.sent), slog.Int("failed", t.failed), slog.Int("waiting", t.waiting),
			slog.Int("expired", t.expired), slog.Int("quiet", t.later))
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
