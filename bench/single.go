package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/bench/internal/single"
)

// A singleArgs defines which scheduler to run alone, and for how long to measure it.
type singleArgs struct {
	single.Setup
	Window time.Duration
}

// A singleResult is the result of a scheduler within the window.
type singleResult struct {
	CPU time.Duration
	Ran int // runs that started within the window
	Due int // runs that were due within the window
}

// perRun returns the CPU time of one run, or of one wake if runs do not coincide.
func (r singleResult) perRun() time.Duration { return r.CPU / time.Duration(max(r.Ran, 1)) }

var singleCase = proc.Define("single", runSingle)

func measureSingle(ctx context.Context, env *Env, a singleArgs) (singleResult, error) {
	r, err := singleCase.Run(ctx, a)
	if err == nil {
		env.logf("%s: %d jobs every %v: in %v %d runs, %d of those due; CPU %v, %s a run",
			a.Scheduler, a.Jobs, a.Period, a.Window, r.Ran, r.Due, r.CPU, us(r.perRun()))
	}
	return r, err
}

// settle returns how long a scheduler of so many jobs may take to start.
func settle(jobs int) time.Duration { return 3*time.Second + time.Duration(jobs)*50*time.Microsecond }

// runSingle runs in the child.
func runSingle(ctx context.Context, a singleArgs) (r singleResult, err error) {
	var seen window
	s, err := single.New(a.Setup, settle(a.Jobs), seen.hit)
	if err != nil {
		return r, err
	}
	if s.Ran == nil {
		s.Ran = seen.ran.Load
	}
	opens := s.Begins.Add(time.Second)
	seen.open(opens, a.Window)
	life, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(life) }()
	measure.Pause(ctx, time.Until(opens))
	cpu, ran := measure.CPU(), s.Ran()
	measure.Pause(ctx, a.Window)
	r.CPU, r.Ran = measure.CPU()-cpu, int(s.Ran()-ran)
	measure.Pause(ctx, time.Second) // for runs that are due and late
	r.Due = int(seen.due.Load())
	stop()
	return r, errors.Join(ctx.Err(), <-ended)
}

// A window counts runs, and the runs among them that were due within it.
type window struct {
	from, to atomic.Int64 // Unix ms
	ran, due atomic.Int64
}

func (w *window) open(from time.Time, length time.Duration) {
	w.from.Store(from.UnixMilli())
	w.to.Store(from.Add(length).UnixMilli())
}

func (w *window) hit(due time.Time) {
	w.ran.Add(1)
	if at := due.UnixMilli(); at >= w.from.Load() && at < w.to.Load() {
		w.due.Add(1)
	}
}
