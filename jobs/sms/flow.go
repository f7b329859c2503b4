package sms

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A flow moves the messages of one run through four steps: taken, sent, answered, marked. One
// goroutine takes and marks; each message at the gateway has a goroutine of its own, bounded by the
// concurrency. At most window messages are taken and not marked: so many are in doubt if the
// process dies.
type flow struct {
	sender *sender
	work   work
	sum    *tally
	began  time.Time
	end    time.Time // take no further messages after this; zero: no bound
	window int
	most   int // bound for held messages that were refused before

	mu      sync.Mutex
	line    []pendingMessage // guarded by mu: taken, and not sent yet, in order
	sending int              // guarded by mu: goroutines that are sending a message

	answers chan answered // capacity is the window, so that no goroutine blocks
	stopped atomic.Bool   // make no further request
	single  atomic.Bool   // one request for each message: the gateway refuses
	wary    atomic.Bool   // the same: it was paused, and has let nothing through since

	held     map[string]bool // ids that were taken and not marked; true: taken before
	before   int             // of these, the ones taken before, nearly all of them refused
	flying   int             // of these, the ones without an answer
	unjudged []answered      // of these, the ones whose refusal may concern the gateway
	dry      time.Time       // time of the last probe if nothing was due; zero: something was due
}

// probeAgain is the interval at which a run probes for due messages while it waits for the gateway. Its
// replies may take long, and newly accepted messages must not wait for them.
const probeAgain = time.Second

// answered is the result of the requests for a piece.
type answered struct {
	piece    Piece
	exchange exchange
	through  int // number of messages that had got through when the piece was taken
}

// A pendingMessage is a message to be sent, with the store's clock at the time it was taken.
type pendingMessage struct {
	answered
	clock clock
}

func newFlow(ctx context.Context, s *sender, w work, sum *tally) *flow {
	f := &flow{sender: s, work: w, sum: sum, began: time.Now(), window: s.window(), held: map[string]bool{}}
	f.most = max(1, min(f.window, s.concurrency)/2)
	f.answers = make(chan answered, f.window)
	if deadline, ok := ctx.Deadline(); ok { // the last quarter is reserved for messages at the gateway
		f.end = f.began.Add(time.Until(deadline) / 4 * 3)
	}
	return f
}

// window returns how many messages a run takes before it has marked the first. It exceeds the
// concurrency, so that the next messages are ready when an answer comes. It does not exceed the
// rate per second: further messages would only wait.
func (s *sender) window() int {
	n := s.concurrency + s.concurrency/2
	if r := float64(s.pace.Limit()); r < float64(n) {
		n = int(r)
	}
	return max(1, n)
}

// run ends after a batch, when nothing is due, when the gateway refuses the sender, when nothing
// was accepted for too long, or when the run's time is nearly over.
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
				refusedFirst: turn%4 == 0, held: f.ids(), try: true})
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

// resume ends a pause in doubt after the message that was tried has got through.
func (f *flow) resume(ctx context.Context) error {
	if f.sum.tried == 0 || f.sum.through == 0 {
		return nil
	}
	f.sum.tried, f.sum.pauses = 0, 0
	return f.sender.outbox.pause(ctx, f.work.holder, 0, 0, "", false)
}

// room returns how many messages to take now. It waits for a quarter of the window, so that a fast
// gateway does not cost a request to the store per message.
func (f *flow) room() int {
	room := min(f.window-len(f.held), f.sender.batch-f.sum.taken-len(f.held))
	switch {
	case !f.dry.IsZero() && (f.flying == 0 || time.Since(f.dry) < probeAgain), !f.end.IsZero() && !time.Now().Before(f.end):
		return 0
	case f.flying > 0 && (room < f.window/4 || f.sum.tried > 0): // the message that is tried is taken alone
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

// send queues messages in order and starts them as far as the concurrency allows.
func (f *flow) send(ctx context.Context, t taking) {
	f.dry = time.Time{}
	if len(t.pieces) == 0 {
		f.dry = time.Now()
	}
	f.sum.pauses, f.sum.tried = t.pauses, t.left
	f.wary.Store(t.pauses > 0 && f.sum.through == 0)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range t.pieces {
		f.held[p.Message.ID] = p.takes() > 1
		if p.takes() > 1 {
			f.before++
		}
		f.flying++
		f.line = append(f.line, pendingMessage{answered{piece: p, through: f.sum.through}, t.clock})
	}
	f.start(ctx)
}

// start starts queued messages as far as the concurrency allows. The caller holds mu.
func (f *flow) start(ctx context.Context) {
	for len(f.line) > 0 && f.sending < f.sender.concurrency {
		next := f.line[0]
		f.line = f.line[1:]
		f.sending++
		go f.exchange(ctx, next)
	}
}

// exchange makes the requests for one message. The gateway may end the goroutine with
// runtime.Goexit, so the result is prepared for that.
func (f *flow) exchange(ctx context.Context, e pendingMessage) {
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
	tries := requests
	if e.piece.takes() > 1 || f.single.Load() || f.wary.Load() { // one request, as for a message that was refused before
		tries = 1
	}
	e.exchange = f.sender.send(ctx, f, e.piece, e.clock, tries)
}

// collect waits for an answer, and receives the others that are ready. It returns early when it is
// time to probe again.
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
	f.sum.judge(a.piece, &a.exchange)
	if f.sum.certain {
		f.stopped.Store(true)
	}
}

// mark records the results of the answered messages. A refusal that may concern the gateway counts
// as the message's own if another message has got through since it was taken. It waits for that
// until all messages at the gateway are answered.
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
			f.dry = time.Time{} // there is room for another message
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
