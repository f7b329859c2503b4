package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/bench/internal/single"
)

// The targets of the timetable.
const (
	wakeGrowth = 1.5 // CPU per wake, 100,000 entries over 1,000
	wakeShare  = 40.0
	addTime    = 10 * time.Microsecond
	entryBytes = 190
)

const (
	fewEntries  = 1_000
	manyEntries = 100_000
	wakeGap     = 100 * time.Millisecond // between two wakes
)

// timetable measures the cost of entries that are not due.
func timetable(ctx context.Context, env *Env) ([]Row, error) {
	wakes, err := measureWakes(ctx, env)
	if err != nil {
		return nil, err
	}
	adds := map[string]addResult{}
	for scheduler, n := range map[string]int{single.Timetable: 5000, single.Cronce: 5000, single.Robfig: 500, single.Netresearch: 5000} {
		setup := single.Setup{Scheduler: scheduler, Jobs: manyEntries, Period: time.Hour}
		adds[scheduler], err = addCase.Run(ctx, addArgs{setup, n})
		if err != nil {
			return nil, err
		}
		env.logf("%s: add to %d entries: %+v", scheduler, manyEntries, adds[scheduler])
	}
	return append(wakeRows(wakes), addRows(adds)...), nil
}

// A size is a scheduler with a number of entries.
type size struct {
	scheduler string
	entries   int
}

func measureWakes(ctx context.Context, env *Env) (map[size]time.Duration, error) {
	found := map[size]time.Duration{}
	for _, entries := range []int{fewEntries, manyEntries} {
		for _, scheduler := range []string{single.Bare, single.Timetable, single.Cronce, single.Robfig, single.Netresearch} {
			a := singleArgs{Window: either(env, 20*time.Second, 5*time.Second)}
			a.Setup = single.Setup{Scheduler: scheduler, Jobs: entries, Period: time.Duration(entries) * wakeGap}
			r, err := measureSingle(ctx, env, a)
			if err != nil {
				return nil, err
			}
			found[size{scheduler, entries}] = r.perRun()
		}
	}
	return found, nil
}

func wakeRows(found map[size]time.Duration) []Row {
	growth := func(scheduler string) float64 {
		return ratio(found[size{scheduler, manyEntries}], found[size{scheduler, fewEntries}])
	}
	many := func(scheduler string) time.Duration { return found[size{scheduler, manyEntries}] }
	worst := max(growth(single.Timetable), growth(single.Cronce))
	share, whole := ratio(many(single.Robfig), many(single.Timetable)), ratio(many(single.Robfig), many(single.Cronce))
	return []Row{
		{
			What: "timetable: CPU per wake at 100,000 entries over 1,000", Reach: "≤ 1.5 ×",
			Measured: fmt.Sprintf("%.2f × (with claims, runs and journal in memory %.2f ×)", growth(single.Timetable), growth(single.Cronce)),
			Peer:     fmt.Sprintf("%s %.1f ×, %s %.1f ×", single.Robfig, growth(single.Robfig), single.Netresearch, growth(single.Netresearch)),
			OK:       worst <= wakeGrowth,
		},
		{
			What: "the same at 100,000, against robfig's", Reach: "≤ 1/40",
			Measured: fmt.Sprintf("%s, 1/%.0f (with claims, runs and journal in memory %s, 1/%.0f)",
				us(many(single.Timetable)), share, us(many(single.Cronce)), whole),
			Peer: fmt.Sprintf("%s %s, %s %s, %s %s", single.Robfig, us(many(single.Robfig)),
				single.Netresearch, us(many(single.Netresearch)), single.Bare, us(many(single.Bare))),
			OK: share >= wakeShare,
		},
	}
}

func addRows(found map[string]addResult) []Row {
	ours, stored := found[single.Timetable], found[single.Cronce]
	robfig, netresearch := found[single.Robfig], found[single.Netresearch]
	return []Row{
		{
			What: "add a job to a running timetable of 100,000", Reach: "≤ 10 µs",
			Measured: fmt.Sprintf("%s of CPU (%s with the work of the store in memory)", us(ours.CPU), us(stored.CPU)),
			Peer:     fmt.Sprintf("%s %s, %s %s", single.Robfig, us(robfig.CPU), single.Netresearch, us(netresearch.CPU)),
			OK:       ours.CPU <= addTime,
		},
		{
			What: "bytes per entry beyond name, key and parsed spec", Reach: "≤ 190",
			Measured: fmt.Sprintf("%.0f", ours.Bytes), Peer: fmt.Sprintf("%s %.0f, %s %.0f, with a closure", single.Robfig, robfig.Bytes, single.Netresearch, netresearch.Bytes),
			OK: ours.Bytes <= entryBytes,
		},
	}
}

// An addArgs defines the scheduler and the number of jobs to add.
type addArgs struct {
	single.Setup
	Adds int
}

// An addResult is the cost of one more job.
type addResult struct {
	CPU   time.Duration // of the process per added job, including work that follows in the background
	Bytes float64       // of heap and stacks per entry, without its name
}

var addCase = proc.Define("add", runAdd)

// runAdd runs in the child. No job is due meanwhile.
func runAdd(ctx context.Context, a addArgs) (r addResult, err error) {
	empty := memory()
	s, err := single.New(a.Setup, 10*time.Minute, func(time.Time) {})
	if err != nil {
		return r, err
	}
	life, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(life) }()
	measure.Pause(ctx, settle(a.Jobs))
	r.Bytes = float64(memory()-empty)/float64(a.Jobs) - s.NameBytes
	r.CPU, err = addMany(ctx, s, a.Adds)
	stop()
	return r, errors.Join(err, <-ended)
}

// addMany adds jobs and returns the CPU time of one.
func addMany(ctx context.Context, s *single.Scheduler, n int) (time.Duration, error) {
	began := measure.CPU()
	for i := range n {
		if err := s.Add(fmt.Sprintf("added-%05d", i)); err != nil {
			return 0, err
		}
	}
	measure.Pause(ctx, time.Second) // for work that the calls left to other goroutines
	return (measure.CPU() - began) / time.Duration(n), nil
}

// memory returns the size of the heap and the stacks.
func memory() int64 {
	runtime.GC()
	runtime.GC() // frees memory that finalizers released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
