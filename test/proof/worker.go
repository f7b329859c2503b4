package proof

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A worker is the function of a member's job.
type worker struct {
	job     Job
	witness *Witness
	die     func(error) // ends the process: without its witness a run proves nothing

	mu    sync.Mutex
	tries map[attempt]int
}

func newWorker(j Job, w *Witness, die func(error)) *worker {
	return &worker{job: j, witness: w, die: die, tries: map[attempt]int{}}
}

// run reports the start and the end to the witness and does the work of the job.
func (w *worker) run(ctx context.Context, run *scheduler.Run) error {
	_, at, _ := strings.Cut(run.ID, "@")
	own, err := time.Parse(tickLayout, at)
	if err != nil {
		return fmt.Errorf("proof: the instant in the id of run %s: %w", run.ID, err)
	}
	r := Record{Kind: Start, Job: run.Job, Tick: own.UnixMilli(), Fence: run.Fence, Attempt: run.Attempt, Node: run.Node}
	if run.Backfill {
		r.For = run.Tick.UnixMilli()
	}
	r.Try = w.try(r.attempt())
	w.tell(r)
	err = w.work(ctx, r)
	r.Kind = End
	if cause := context.Cause(ctx); cause != nil {
		r.Cause = cause.Error()
	}
	w.tell(r)
	return err
}

// try counts the calls of one attempt.
func (w *worker) try(a attempt) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tries[a]++
	return w.tries[a]
}

func (w *worker) work(ctx context.Context, r Record) error {
	over := time.NewTimer(w.job.Work)
	defer over.Stop()
	var writes <-chan time.Time
	if w.job.Writes > 0 {
		t := time.NewTicker(w.job.Writes)
		defer t.Stop()
		writes = t.C
	}
	done := ctx.Done()
	if w.job.Deaf {
		done = nil
	}
	for {
		select {
		case <-writes:
			w.write(r)
		case <-done:
			if writes != nil {
				w.write(r) // as careless code would that was about to write
			}
			return context.Cause(ctx)
		case <-over.C:
			return w.outcome(r.Try)
		}
	}
}

func (w *worker) outcome(try int) error {
	if try <= w.job.Fail {
		return errors.New("asked to fail")
	}
	return nil
}

func (w *worker) tell(r Record) {
	if err := w.witness.Tell(r); err != nil {
		w.die(err)
	}
}

func (w *worker) write(r Record) {
	r.Kind = Write
	if _, err := w.witness.Write(r); err != nil {
		w.die(err)
	}
}
