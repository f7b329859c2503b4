package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/delivery"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// The bounds of the outputs that wait for the store.
const (
	waitingOutputs     = 1024
	waitingOutputBytes = 4 << 20
)

// outputs sends the outputs of runs that have ended to the store, one after the other, in the
// background. No run, claim, renewal or end waits for it, and nothing is repeated: an output is for readers alone.
type outputs struct {
	store   series.Front
	timeout time.Duration // of one request
	life    context.Context
	stop    context.CancelFunc
	queue   *delivery.Queue[series.Output]
}

// newOutputs returns outputs for a store that keeps them; nil: it does not.
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

// end waits for the outputs that wait, but not longer than for one request that is not answered.
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

// A runOutput is the text that a run has given to be kept.
type runOutput struct {
	mu    sync.Mutex
	text  string
	given bool
}

// KeepOutput has the store keep the end of the run's output, for cronce why, the pages and other
// readers of series.OutputKeeper: the last series.MaxOutput bytes of the text, as UTF-8. Mask its secrets
// before: each reader of the store or of the pages may read it. The node sends it when the run has ended, whatever the
// outcome, in the background: it makes no run and no tick wait. The last call counts,
// in whichever try of the run. A store keeps series.MaxOutputs outputs of a job at most, and
// series.OutputBytes of text. An output is lost, and counted in Stats, if the store does not answer in time; one that
// keeps none is not asked. It may be called from several goroutines; after the function has returned it has no effect.
func (r *Run) KeepOutput(text string) {
	if r.output == nil {
		return
	}
	text = series.OutputText(text)
	r.output.mu.Lock()
	defer r.output.mu.Unlock()
	r.output.text, r.output.given = text, true
}
