package sms

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A flow is the messages of one run on their way: taken, at the gateway, answered, marked.
// One goroutine takes and marks; beside it each message that is at the gateway has its own,
// no more than the concurrency. What is taken and not marked is never more than the window:
// so much is in doubt when the process dies.
type flow struct {
	sender *sender
	work   work
	sum    *tally
	began  time.Time
	end    time.Time // take nothing any more; zero: no such time
	window int
	most   int // of what is held: messages that were refused before

	mu      sync.Mutex
	line    []errand // guarded by mu: taken, and not at the gateway yet, in order
	sending int      // guarded by mu: goroutines that have a message at the gateway

	answers chan answered // has room for the window: no goroutine waits
	stopped atomic.Bool   // make no request any more
	single  atomic.Bool   // one request for each message: the gateway refuses

	held     map[string]bool // the ids that were taken and not marked, and whether they were taken before
	before   int             // of them, those that were: by far the most were refused
	flying   int             // of them, those without an answer: in the line or at the gateway
	unjudged []answered      // of them, those whose refusal may be about the gateway
	dry      time.Time       // nothing was due at the last probe, which was then; zero: something was
}

// probeAgain is how soon a run probes again for due messages, where there were none and it waits for
// answers: they may take long, and a message that is accepted meanwhile shall not.
const probeAgain = time.Second

// answered is what the requests for a piece came to.
type answered struct {
	piece    Piece
	exchange exchange
	through  int // how many messages had got through when it was taken
}

// An errand is a message to be sent, and the store's clock as it was when it was taken.
type errand struct {
	answered
	clock clock
}

func newFlow(ctx context.Context, s *sender, w work, sum *tally) *flow {
	f := &flow{sender: s, work: w, sum: sum, began: time.Now(), window: s.window(), held: map[string]bool{}}
	f.most = max(1, min(f.window, s.concurrency)/2)
	f.answers = make(chan answered, f.window)
	if deadline, ok := ctx.Deadline(); ok { // the last quarter is for what is at the gateway then
		f.end = f.began.Add(time.Until(deadline) / 4 * 3)
	}
	return f
}

// window is how many messages a run takes before it has marked the first: some more than
// are sent at a time, so that the next are there when one was answered; but not more than
// the gateway takes in a second, so that an urgent one does not wait for them.
func (s *sender) window() int {
	n := s.concurrency + s.concurrency/2
	if r := float64(s.pace.Limit()); r < float64(n) {
		n = int(r)
	}
	return max(1, n)
}

// run ends after a batch, when nothing is due, when the gateway refuses us, when it has let
// nothing through for too long, or when the run's time is nearly over.
func (f *flow) run(ctx context.Context) error {
	err := f.flow(ctx)
	f.stopped.Store(true)
	for f.flying > 0 {
		f.receive(<-f.answers)
	}
	if last := f.mark(ctx, true); err == nil {
		err = last
	}
	if err == nil {
		err = f.work.may(ctx)
	}
	return err
}

func (f *flow) flow(ctx context.Context) error {
	for turn := 1; ; {
		if err := f.work.may(ctx); err != nil {
			return err
		}
		if room := f.room(); room > 0 {
			t, err := f.sender.outbox.take(ctx, f.work.holder, asking{most: room, refused: max(0, f.most-f.before),
				lanes: lanes(turn), held: f.ids(), try: true})
			if err != nil {
				return err
			}
			turn++
			f.send(ctx, t)
		}
		if len(f.held) == 0 {
			return nil
		}
		f.collect()
		if err := f.mark(ctx, false); err != nil || f.stopped.Load() {
			return err
		}
		if err := f.resume(ctx); err != nil {
			return err
		}
	}
}

// resume ends a pause that was in doubt once the message that was tried has got through.
func (f *flow) resume(ctx context.Context) error {
	if f.sum.tried == 0 || f.sum.through == 0 {
		return nil
	}
	f.sum.tried, f.sum.pauses = 0, 0
	return f.sender.outbox.pause(ctx, f.work.holder, 0, 0, "", false)
}

// room is how many messages to take now. It waits for a quarter of the window, so that a
// fast gateway does not cost a question for each message.
func (f *flow) room() int {
	room := min(f.window-len(f.held), f.sender.batch-f.sum.taken-len(f.held))
	switch {
	case !f.dry.IsZero() && (f.flying == 0 || time.Since(f.dry) < probeAgain), !f.end.IsZero() && !time.Now().Before(f.end):
		return 0
	case f.flying > 0 && (room < f.window/4 || f.sum.tried > 0): // the message that tries goes alone
		return 0
	}
	return room
}

func (f *flow) ids() []string {
	ids := make([]string, 0, len(f.held))
	for id := range f.held {
		ids = append(ids, id)
	}
	return ids
}

// send lets messages be sent in their order, no more at a time than the concurrency.
func (f *flow) send(ctx context.Context, t taking) {
	f.dry = time.Time{}
	if len(t.pieces) == 0 {
		f.dry = time.Now()
	}
	f.sum.pauses, f.sum.tried = t.pauses, t.left
	if t.pauses > 0 {
		f.single.Store(true)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range t.pieces {
		f.held[p.Message.ID] = p.takes() > 1
		if p.takes() > 1 {
			f.before++
		}
		f.flying++
		f.line = append(f.line, errand{answered{piece: p, through: f.sum.through}, t.clock})
	}
	f.start(ctx)
}

// start begins with those in the line for which there is room. The caller holds mu.
func (f *flow) start(ctx context.Context) {
	for len(f.line) > 0 && f.sending < f.sender.concurrency {
		next := f.line[0]
		f.line = f.line[1:]
		f.sending++
		go f.exchange(ctx, next)
	}
}

// exchange makes the requests for one message. A gateway may end its goroutine.
func (f *flow) exchange(ctx context.Context, e errand) {
	e.exchange = exchange{made: 1, unsure: 1, err: errors.New("the gateway ended its goroutine")}
	defer func() {
		if e.exchange.refusal() != nil {
			f.single.Store(true)
		}
		f.answers <- e.answered
		f.mu.Lock()
		defer f.mu.Unlock()
		f.sending--
		f.start(ctx)
	}()
	tries := uint(requests)
	if e.piece.takes() > 1 || f.single.Load() { // as for those that were refused before
		tries = 1
	}
	e.exchange = f.sender.send(ctx, f, e.piece, e.clock, tries)
}

// collect waits for one answer, and takes those that are there with it. It does not wait
// longer than until it is time to probe again for due messages.
func (f *flow) collect() {
	if f.flying > 0 {
		again := time.NewTimer(probeAgain)
		defer again.Stop()
		select {
		case a := <-f.answers:
			f.receive(a)
		case <-again.C:
		}
	}
	for {
		select {
		case a := <-f.answers:
			f.receive(a)
		default:
			return
		}
	}
}

func (f *flow) receive(a answered) {
	f.flying--
	f.unjudged = append(f.unjudged, a)
	f.sum.judge(&a.exchange)
	if f.sum.certain {
		f.stopped.Store(true)
	}
}

// mark records what became of the messages that were answered. A refusal that may be about
// the gateway is about its message if another has got through since that was taken, and
// waits for one until all that are at the gateway were answered.
func (f *flow) mark(ctx context.Context, all bool) error {
	all = all || f.sum.certain || f.flying == 0
	var marks []Mark
	var later []answered
	for _, a := range f.unjudged {
		up := f.sum.through > a.through
		if !all && !up && a.exchange.refusal() != nil {
			later = append(later, a)
			continue
		}
		marks = append(marks, f.sender.mark(a.piece, a.exchange, up, f.sum.pause()))
	}
	f.unjudged = later
	if len(marks) == 0 {
		return nil
	}
	err := f.sender.markAll(ctx, f.work.holder, marks)
	for _, m := range marks {
		if f.held[m.piece.Message.ID] {
			f.before--
			f.dry = time.Time{} // there is a place for another
		}
		delete(f.held, m.piece.Message.ID)
	}
	if err != nil {
		return err
	}
	if !f.sum.add(marks) || f.sum.doubtful(time.Since(f.began)) || f.sum.tried > 0 && f.sum.refused > 0 {
		f.stopped.Store(true)
	}
	return nil
}
