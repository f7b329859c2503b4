package main

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/bench/internal/rivals"
	"github.com/cronce/cronce/bench/internal/turns"
)

// The targets for a hot key, relative to redsync in the same run.
const (
	hotOneChanges = 10
	hotOneP99     = 1.0 / 6
	hotOneMax     = 1.0 / 8
	hotChanges    = 30
	hotMaxWait    = 150 * time.Millisecond
	hotCommands   = 4
	hotShare      = 0.1
)

// hot lets 16 callers compete for one key with a section of a millisecond: in one process, and in
// four.
func hot(ctx context.Context, env *Env) ([]Row, error) {
	one, err := fights(ctx, env, 1, 16)
	if err != nil {
		return nil, err
	}
	four, err := fights(ctx, env, 4, 4)
	if err != nil {
		return nil, err
	}
	return []Row{hotInOne(one), hotInFour(four)}, nil
}

func hotInOne(found map[string]fight) Row {
	ours, peer := found[rivals.Cronce], found[rivals.Redsync]
	changes, p99, longest := ours.Changes/peer.Changes, ratio(ours.P99, peer.P99), ratio(ours.Max, peer.Max)
	return Row{
		What:     "hot key, 16 waiters in one process, 1 ms section",
		Reach:    "owner changes ≥ 10 × redsync's; wait p99 ≤ 1/6, max ≤ 1/8; each waiter within ± 10 % of the mean",
		Measured: fmt.Sprintf("%s: %.0f ×, p99 %s, max %s", ours, changes, part(p99), part(longest)),
		Peer:     others(found),
		OK:       changes >= hotOneChanges && p99 <= hotOneP99 && longest <= hotOneMax && ours.Spread <= hotShare,
	}
}

func hotInFour(found map[string]fight) Row {
	ours, peer := found[rivals.Cronce], found[rivals.Redsync]
	changes := ours.Changes / peer.Changes
	return Row{
		What:     "hot key, 4 processes × 4 waiters, 1 ms section",
		Reach:    "owner changes ≥ 30 × redsync's, max wait ≤ 150 ms, shares within ± 10 %, ≤ 4 client commands a section",
		Measured: fmt.Sprintf("%s: %.0f ×, %.1f commands", ours, changes, ours.Commands),
		Peer:     others(found),
		OK:       changes >= hotChanges && ours.Max <= hotMaxWait && ours.Spread <= hotShare && ours.Commands <= hotCommands,
	}
}

func others(found map[string]fight) string {
	var r Row
	for _, name := range rivals.Libraries[1:] {
		r.beside("%s %s", name, found[name])
	}
	return r.Peer
}

// A fight is the result of one competition.
type fight struct {
	turns.Summary
	Commands float64 // of the clients, for a section; 0: they were not counted
}

func (f fight) String() string {
	return fmt.Sprintf("%.0f changes/s, wait p99 %s, max %s, shares ± %.0f %%", f.Changes, ms(f.P99), ms(f.Max), 100*f.Spread)
}

// fights runs one competition for each library.
func fights(ctx context.Context, env *Env, processes, callers int) (map[string]fight, error) {
	found := map[string]fight{}
	for _, name := range rivals.Libraries {
		f, err := onServer(ctx, func(addr string) (fight, error) {
			return fightOver(ctx, hotArgs{Lock: name, Addr: addr, Callers: callers, Window: either(env, 10*time.Second, 4*time.Second)}, processes)
		})
		if err != nil {
			return nil, err
		}
		env.logf("%d × %d, %s: %s, %.0f sections/s, %.1f commands, %d overlaps", processes, callers, name, f, f.Sections, f.Commands, f.Overlaps)
		if f.Overlaps > 0 && name == rivals.Cronce {
			return nil, fmt.Errorf("two held the key at once, %d times", f.Overlaps)
		}
		found[name] = f
	}
	return found, nil
}

// fightOver starts the processes, lets them compete within one window, and merges their results.
func fightOver(ctx context.Context, a hotArgs, processes int) (fight, error) {
	a.Begin = time.Now().Add(time.Second)
	type answer struct {
		hotResult
		error
	}
	answers := make(chan answer, processes)
	for i := range processes {
		mine := a
		mine.First = i * a.Callers
		go func() {
			r, err := hotCase.Run(ctx, mine)
			answers <- answer{r, err}
		}()
	}
	var all turns.Record
	sent := 0
	var failed error
	for range processes {
		r := <-answers
		all.Add(r.Record)
		sent += r.Sent
		if r.error != nil {
			failed = r.error
		}
	}
	f := fight{Summary: all.Summary(processes*a.Callers, a.Window)}
	f.Commands = float64(sent) / float64(max(len(all.Holds), 1))
	return f, failed
}

// A hotArgs defines the library, the server and the time.
type hotArgs struct {
	Lock    string
	Addr    string
	First   int // the number of the first caller
	Callers int
	Begin   time.Time
	Window  time.Duration
}

// A hotResult is the result of the callers of one process.
type hotResult struct {
	turns.Record
	Sent int
}

var hotCase = proc.Define("hot", runHot)

// runHot runs in the child.
func runHot(ctx context.Context, a hotArgs) (hotResult, error) {
	l, err := rivals.New(a.Lock, a.Addr)
	if err != nil {
		return hotResult{}, err
	}
	defer l.Close()
	record, err := turns.Take(ctx, l.Acquire, a.First, a.Callers, a.Begin, a.Window)
	r := hotResult{Record: record}
	if l.Sent != nil {
		for _, n := range l.Sent.Sent() {
			r.Sent += n
		}
	}
	return r, err
}
