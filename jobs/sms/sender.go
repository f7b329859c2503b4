package sms

import (
	"context"
	"errors"
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
	began := time.Now()
	var sum tally
	err := s.handfuls(ctx, w, &sum, began)
	if err == nil {
		err = s.pauseAfter(ctx, w, &sum)
	}
	sum.log(w.log)
	if err != nil {
		return err
	}
	if _, err := s.outbox.Trim(ctx); err != nil {
		w.log.Warn("old messages not forgotten", zap.Error(err))
	}
	return sum.err()
}

// handfuls ends after a batch, when nothing is due, when the gateway refuses us, or when
// it has let nothing through for too long. Every fourth handful begins with what was
// refused before, so that a full first lane does not keep those messages for ever.
func (s *sender) handfuls(ctx context.Context, w work, sum *tally, began time.Time) error {
	for turn := 1; sum.taken < s.batch; turn++ {
		if err := w.may(ctx); err != nil {
			return err
		}
		t, err := s.outbox.take(ctx, w.holder, min(s.concurrency, s.batch-sum.taken), turn%4 == 0)
		if err != nil || len(t.pieces) == 0 {
			return err
		}
		sum.pauses = t.pauses
		exchanges := s.sendAll(ctx, w, t.pieces, sum.refused > 0 || t.pauses > 0)
		sum.judge(exchanges)
		marks := make([]Mark, len(exchanges))
		for i, x := range exchanges {
			marks[i] = s.mark(t.pieces[i], x, sum.through > 0, sum.pause())
		}
		if err := s.markAll(ctx, w.holder, marks); err != nil {
			return err
		}
		if !sum.add(marks) || sum.doubtful(time.Since(began)) {
			return w.may(ctx)
		}
	}
	return w.may(ctx)
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
	case sum.certain || sum.through == 0:
		n := sum.count() + 1
		if err := s.outbox.pause(ctx, w.holder, sum.pause(), n, clean(sum.first.reason, sum.first.piece.Message.To)); err != nil {
			return err
		}
	case sum.pauses > 0:
		return s.outbox.pause(ctx, w.holder, 0, 0, "")
	}
	return nil
}

// sendAll sends pieces at the same time. Once makes no more than one request for each
// message, as it does for those that were refused before.
func (s *sender) sendAll(ctx context.Context, w work, pieces []Piece, once bool) []exchange {
	exchanges := make([]exchange, len(pieces))
	var group sync.WaitGroup
	for i, p := range pieces {
		exchanges[i] = exchange{made: 1, unsure: 1, err: errors.New("the gateway ended its goroutine")}
		tries := uint(requests)
		if once || p.takes() > 1 {
			tries = 1
		}
		group.Go(func() { exchanges[i] = s.send(ctx, w, p, tries) })
	}
	group.Wait()
	return exchanges
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
	taken, sent, failed, waiting int
	first                        Mark // that has to wait
	lost                         []Mark

	pauses  int           // before this run, since a message got through
	through int           // requests that were answered for good or bad
	refused int           // messages that were neither
	certain bool          // the gateway has refused us and not a message
	unsure  bool          // some of refused may have been accepted
	after   time.Duration // the longest Retry-After of what makes the pause
}

// judge counts how the gateway answered a handful.
func (t *tally) judge(exchanges []exchange) {
	for i := range exchanges {
		x := &exchanges[i]
		e := x.refusal()
		switch {
		case x.made == 0:
		case e == nil:
			t.through++
		default:
			t.refused++
			t.certain = t.certain || e.Pause
			t.unsure = t.unsure || x.unsure > 0
			t.after = max(t.after, e.After)
		}
	}
}

// count is the number of pauses since a message got through.
func (t *tally) count() int {
	if t.through > 0 {
		return 0
	}
	return t.pauses
}

// pause is how long the gateway is left alone, as far as the run knows.
func (t *tally) pause() time.Duration { return pauseAfter(t.count(), t.after, t.unsure) }

// doubtful reports whether nothing got through for so long that the gateway must be the
// reason. A gateway that asks for time has said so itself, unless others get through.
func (t *tally) doubtful(spent time.Duration) bool {
	return t.certain || t.through == 0 && (t.after > 0 || t.refused >= doubtMessages || spent >= doubtTime)
}

// add counts a handful and reports whether another makes sense: not when no request was
// made, as when the run has ended.
func (t *tally) add(marks []Mark) bool {
	made := 0
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
		case "back":
			t.taken--
			made--
		}
		made++
	}
	return made > 0
}

func (t *tally) log(log *zap.Logger) {
	for _, m := range t.lost {
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
