package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/bench/internal/rivals"
)

// The targets for 128 callers in one process.
const (
	crowdGain = 2.5
	crowdCPU  = 1.0 / 3
)

// crowd compares many concurrent callers, each with a key of its own, with as many callers that
// send the bare commands through a plain client.
func crowd(ctx context.Context, env *Env) ([]Row, error) {
	found, err := onServer(ctx, func(addr string) (map[string]crowdResults, error) { return crowds(ctx, env, addr) })
	if err != nil {
		return nil, err
	}
	ours, raw := found[rivals.Cronce], found[rivals.Raw]
	gain, cpu := ours.over(raw)
	row := Row{
		What: "uncontended acquire + release, 128 goroutines", Reach: "≥ 2.5 × the raw pairs per second, ≤ 1/3 of its CPU per pair",
		Measured: fmt.Sprintf("%.0f pairs/s, %.1f ×; %s a pair, %s", ours.rate(), gain, us(ours.cpu()), part(cpu)),
		OK:       gain >= crowdGain && cpu <= crowdCPU,
	}
	for _, name := range append([]string{rivals.Raw}, rivals.Libraries[1:]...) {
		row.beside("%s %.0f pairs/s, %s", name, found[name].rate(), us(found[name].cpu()))
	}
	return []Row{row}, nil
}

// crowds measures all contenders in turns.
func crowds(ctx context.Context, env *Env, addr string) (map[string]crowdResults, error) {
	found := map[string]crowdResults{}
	for range either(env, 7, 3) {
		for _, name := range append([]string{rivals.Raw}, rivals.Libraries...) {
			r, err := crowdCase.Run(ctx, crowdArgs{name, addr, 128, time.Second})
			if err != nil {
				return nil, err
			}
			env.logf("%s: %.0f pairs/s, %s of CPU each", name, r.Rate, us(r.CPU))
			found[name] = append(found[name], r)
		}
	}
	return found, nil
}

// crowdResults are the results of all rounds.
type crowdResults []crowdResult

func (rs crowdResults) rate() float64 {
	return rs.middle(func(i int) float64 { return rs[i].Rate })
}

func (rs crowdResults) cpu() time.Duration {
	return time.Duration(rs.middle(func(i int) float64 { return float64(rs[i].CPU) }))
}

// over compares with another contender round by round, since the speed of the machine changes
// between rounds.
func (rs crowdResults) over(other crowdResults) (rate, cpu float64) {
	rate = rs.middle(func(i int) float64 { return ratio(rs[i].Rate, other[i].Rate) })
	cpu = rs.middle(func(i int) float64 { return ratio(rs[i].CPU, other[i].CPU) })
	return rate, cpu
}

// middle returns the median of a figure over all rounds.
func (rs crowdResults) middle(say func(i int) float64) float64 {
	all := make([]float64, len(rs))
	for i := range all {
		all[i] = say(i)
	}
	return measure.Median(all)
}

// A crowdArgs defines the library, the server, the number of concurrent callers, and the time.
type crowdArgs struct {
	Lock    string
	Addr    string
	Callers int
	Window  time.Duration
}

// A crowdResult is the work of the callers within the window.
type crowdResult struct {
	Rate float64       // pairs per second
	CPU  time.Duration // of a pair, in the process that locks
}

var crowdCase = proc.Define("crowd", runCrowd)

// runCrowd runs in the child.
func runCrowd(ctx context.Context, a crowdArgs) (crowdResult, error) {
	l, err := rivals.New(a.Lock, a.Addr)
	if err != nil {
		return crowdResult{}, err
	}
	defer l.Close()
	life, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, end := context.WithCancel(ctx)
	defer end()
	var pairs atomic.Int64
	var wg sync.WaitGroup
	for i := range a.Callers {
		wg.Go(func() {
			key := fmt.Sprintf("item-%03d", i)
			for life.Err() == nil {
				if err := pair(work, l, key); err != nil {
					stop(err)
					return
				}
				pairs.Add(1)
			}
		})
	}
	measure.Pause(life, a.Window/4) // to open connections and load scripts
	cpu, done, from := measure.CPU(), pairs.Load(), time.Now()
	measure.Pause(life, a.Window)
	n, took := pairs.Load()-done, time.Since(from)
	r := crowdResult{float64(n) / took.Seconds(), (measure.CPU() - cpu) / time.Duration(max(n, 1))}
	stop(nil)
	defer time.AfterFunc(forgotten, end).Stop()
	wg.Wait()
	if cause := context.Cause(life); !errors.Is(cause, context.Canceled) {
		return r, fmt.Errorf("%s: %w", a.Lock, cause)
	}
	return r, ctx.Err()
}

// forgotten is how long a caller may take to end after the window: a library that missed a wake-up
// would wait forever.
const forgotten = 5 * time.Second

func pair(ctx context.Context, l *rivals.Lock, key string) error {
	release, err := l.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return release(ctx)
}
