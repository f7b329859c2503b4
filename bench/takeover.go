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
	"strconv"
	"sync"
	"time"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/scheduler"
)

const (
	takeoverLease = 3 * time.Second
	takeoverMost  = takeoverLease + time.Second // from the kill to the new attempt
	atOnce        = 4                           // concurrent clusters, each in a namespace of its own
)

// takeover kills the node that runs a tick and waits for the next attempt.
func takeover(ctx context.Context, env *Env) ([]Row, error) {
	rounds := either(env, 20, atOnce)
	took, err := onServer(ctx, func(addr string) (all []time.Duration, err error) {
		at := storeAt{Kind: redisStore, Addrs: []string{addr}}
		for first := 0; first < rounds; first += atOnce {
			some, failed := killSome(ctx, at, first, min(atOnce, rounds-first), false)
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

// killSome kills the winners of concurrent clusters. It returns the times from the kill, or from
// the end of the lease, to the next attempt.
func killSome(ctx context.Context, at storeAt, first, n int, fromEnd bool) ([]time.Duration, error) {
	took, errs := make([]time.Duration, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { took[i], errs[i] = kill(ctx, at, fmt.Sprintf("takeover-%d", first+i), fromEnd) })
	}
	wg.Wait()
	return took, errors.Join(errs...)
}

// kill starts two nodes, kills the one that runs a tick, and returns how long after that, or after
// the end of the lease, the other node began the next attempt.
func kill(ctx context.Context, at storeAt, namespace string, fromEnd bool) (time.Duration, error) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	runs := make(chan started, 16)
	var nodes [2]*exec.Cmd
	for i := range nodes {
		cmd, err := startNode(ctx, nodeArgs{at, namespace, i, 0}, runs)
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
	measure.Pause(ctx, rand.N(takeoverLease)) // at any point between two renewals
	from := time.Now()
	end(nodes[first.Node])
	if fromEnd {
		if from, err = leaseEnd(ctx, at, namespace, first); err != nil {
			return 0, err
		}
	}
	second, err := next(ctx, runs, func(s started) bool { return s.Tick.Equal(first.Tick) && s.Attempt > first.Attempt })
	return second.At.Sub(from), err
}

// end kills a child; a child that has already ended is not an error.
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

// A nodeArgs defines the node that a child runs.
type nodeArgs struct {
	Store     storeAt
	Namespace string
	Node      int
	Jobs      int // which end at once, each second; 0: one job that does not end
}

// A started is a run that a child reports.
type started struct {
	Node    int
	Job     string
	Tick    time.Time
	Attempt int
	Fence   int64
	At      time.Time
	Sent    int64 // requests of the node so far
}

var nodeCase = proc.Define("node", runNode)

// startNode starts a child and sends the runs that it prints to runs.
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

// runNode runs in the child, until it is killed.
func runNode(ctx context.Context, a nodeArgs) (struct{}, error) {
	store, err := a.Store.open(ctx, a.Namespace)
	if err != nil {
		return struct{}{}, err
	}
	defer store.close()
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	begin := func(run *scheduler.Run) error {
		s := started{a.Node, run.Job, run.Tick, run.Attempt, run.Fence, time.Now(), store.sent.Load()}
		mu.Lock()
		defer mu.Unlock()
		return out.Encode(s)
	}
	jobs := []scheduler.Job{{
		Name: "long", Spec: "* * * * * *", Lease: takeoverLease, Takeover: scheduler.TakeoverRerun,
		Func: func(ctx context.Context, run *scheduler.Run) error {
			if err := begin(run); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		},
	}}
	if a.Jobs > 0 {
		jobs = nil
	}
	for j := range a.Jobs {
		jobs = append(jobs, scheduler.Job{
			Name: "job-" + strconv.Itoa(j), Spec: "* * * * * *", Misfire: scheduler.MisfireAll,
			Func: func(_ context.Context, run *scheduler.Run) error { return begin(run) },
		})
	}
	node, err := scheduler.New(scheduler.Config{
		Name: fmt.Sprintf("node-%d", a.Node), Namespace: a.Namespace, Store: store.driver, Grace: time.Millisecond, Jobs: jobs,
	})
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, node.Run(ctx)
}
