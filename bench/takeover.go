package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/bench/internal/contend"
	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

const (
	takeoverLease = 3 * time.Second
	takeoverMost  = takeoverLease + time.Second // from the kill to the new attempt
	atOnce        = 4                           // clusters side by side, each in a namespace of its own
)

// takeover kills the node that runs a tick and waits for the next attempt.
func takeover(ctx context.Context, env *Env) ([]Row, error) {
	rounds := either(env, 20, atOnce)
	took, err := onServer(ctx, func(addr string) (all []time.Duration, err error) {
		for first := 0; first < rounds; first += atOnce {
			some, failed := killSome(ctx, addr, first, min(atOnce, rounds-first))
			all, err = append(all, some...), errors.Join(err, failed)
		}
		return all, err
	})
	if err != nil {
		return nil, err
	}
	env.logf("from the kill to the next attempt: %v", took)
	late := slices.DeleteFunc(slices.Clone(took), func(d time.Duration) bool { return d <= takeoverMost })
	row := Row{What: "takeover after SIGKILL of the winner, `takeover: rerun`, lease 3 s", Reach: "new attempt within lease + 1 s, 20 of 20", OK: true}
	row.also(len(late) == 0, "%d of %d, longest %s, median %s", rounds-len(late), rounds, ms(slices.Max(took)), ms(measure.Median(took)))
	return []Row{row}, nil
}

// killSome kills the winners of clusters side by side.
func killSome(ctx context.Context, addr string, first, n int) ([]time.Duration, error) {
	took, errs := make([]time.Duration, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { took[i], errs[i] = kill(ctx, addr, fmt.Sprintf("takeover-%d", first+i)) })
	}
	wg.Wait()
	return took, errors.Join(errs...)
}

// kill starts two nodes, kills the one that runs a tick, and returns how long
// after that the other one began the next attempt.
func kill(ctx context.Context, addr, namespace string) (time.Duration, error) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	runs := make(chan started, 16)
	var nodes [2]*exec.Cmd
	for i := range nodes {
		cmd, err := startNode(ctx, nodeArgs{addr, namespace, i}, runs)
		if err != nil {
			return 0, err
		}
		defer end(cmd)
		nodes[i] = cmd
	}
	first, err := next(ctx, runs, func(started) bool { return true })
	if err != nil {
		return 0, err
	}
	measure.Pause(ctx, rand.N(takeoverLease)) // anywhere between two renewals
	killed := time.Now()
	end(nodes[first.Node])
	second, err := next(ctx, runs, func(s started) bool { return s.Tick.Equal(first.Tick) && s.Attempt > first.Attempt })
	return second.At.Sub(killed), err
}

// end kills a child; one that is gone is no error.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func next(ctx context.Context, runs <-chan started, want func(started) bool) (started, error) {
	for {
		select {
		case s := <-runs:
			if want(s) {
				return s, nil
			}
		case <-ctx.Done():
			return started{}, fmt.Errorf("no run: %w", ctx.Err())
		}
	}
}

// A nodeArgs says which node to run in a child.
type nodeArgs struct {
	Addr      string
	Namespace string
	Node      int
}

// A started run is what a child prints.
type started struct {
	Node    int
	Tick    time.Time
	Attempt int
	At      time.Time
}

var nodeCase = proc.Define("node", runNode)

// startNode starts a child and sends on what it prints.
func startNode(ctx context.Context, a nodeArgs, runs chan<- started) (*exec.Cmd, error) {
	cmd, err := nodeCase.Command(ctx, a)
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var s started
			if json.Unmarshal(lines.Bytes(), &s) == nil {
				runs <- s
			}
		}
	}()
	return cmd, cmd.Start()
}

// runNode runs in the child, until it is killed. Its job does not end by itself.
func runNode(ctx context.Context, a nodeArgs) (struct{}, error) {
	store, err := redislock.New(contend.Client(a.Addr), redislock.Options{Namespace: a.Namespace})
	if err != nil {
		return struct{}{}, err
	}
	out := json.NewEncoder(os.Stdout)
	node, err := scheduler.New(scheduler.Config{
		Name: fmt.Sprintf("node-%d", a.Node), Namespace: a.Namespace, Store: store, Grace: time.Millisecond,
		Jobs: []scheduler.Job{{
			Name: "long", Spec: "* * * * * *", Lease: takeoverLease, Takeover: scheduler.TakeoverRerun,
			Func: func(ctx context.Context, run *scheduler.Run) error {
				if err := out.Encode(started{a.Node, run.Tick, run.Attempt, time.Now()}); err != nil {
					return err
				}
				<-ctx.Done()
				return nil
			},
		}},
	})
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, node.Run(ctx)
}
