package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/delivery"
	"github.com/cronce/cronce/internal/redact"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// Bounds of the outputs that wait for the store.
const (
	waitingOutputs     = 1024
	waitingOutputBytes = 4 << 20
)

// outputs sends the outputs of ended runs to the store, one after the other, in the background. No
// run, claim, renewal or end waits for it. It repeats no request, because outputs are only for
// readers.
type outputs struct {
	store   series.Front
	timeout time.Duration // of one request
	life    context.Context
	stop    context.CancelFunc
	queue   *delivery.Queue[series.Output]
}

// newOutputs returns outputs for a store that keeps them, or nil for another store.
func newOutputs(store driver.Driver, timeout time.Duration) *outputs {
	if _, keeps := store.(series.OutputKeeper); !keeps {
		return nil
	}
	o := &outputs{store: series.FrontOf(store), timeout: timeout}
	o.life, o.stop = context.WithCancel(context.Background())
	o.queue = delivery.New(waitingOutputs, waitingOutputBytes, o.send, func(any) {})
	return o
}

func (o *outputs) send(out series.Output, _ int64) bool {
	ctx, stop := context.WithTimeout(o.life, o.timeout)
	defer stop()
	return o.store.KeepOutput(ctx, out) == nil
}

func (o *outputs) add(out series.Output) { o.queue.Add(out, len(out.Text)) }

// end waits until the waiting outputs are sent, for up to the timeout of one request.
func (o *outputs) end() {
	if o == nil {
		return
	}
	defer o.stop()
	ctx, stop := context.WithTimeout(o.life, o.timeout)
	defer stop()
	o.queue.Wait(ctx)
}

func (o *outputs) lost() int64 {
	if o == nil {
		return 0
	}
	return o.queue.Lost()
}

// A runOutput is the text that a run has given to KeepOutput.
type runOutput struct {
	mu    sync.Mutex
	text  string
	given bool
}

// KeepOutput stores the end of the run's output, for cronce why, the pages and other readers of
// series.OutputKeeper: the last series.MaxOutput bytes of the text, as UTF-8. Parts that look
// like secrets, as in password=secret, are masked first. Mask other secrets before the call,
// because every reader of the store or of the pages can read the output. When the run has
// ended, with any outcome, the node sends the output in the background: no run and no tick waits
// for it. The last call counts, in whichever try of the run. A store keeps at most
// series.MaxOutputs outputs of a job, with series.OutputBytes of text. If the store does not answer
// in time, the output is lost and Stats counts it. A store that keeps no outputs gets no request.
// KeepOutput may be called from several goroutines. After the function has returned it has no
// effect.
func (r *Run) KeepOutput(text string) {
	if r.output == nil {
		return
	}
	text = series.OutputText(redact.Tail(text, series.MaxOutput))
	r.output.mu.Lock()
	defer r.output.mu.Unlock()
	r.output.text, r.output.given = text, true
}
