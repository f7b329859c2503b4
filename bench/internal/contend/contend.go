// Package contend runs the same jobs on n nodes with each contender: with cronce, with the usual
// recipe, and with gocron and a redsync lock. All nodes are goroutines of this process, each with
// its own Redis client.
package contend

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/bench/internal/measure"
)

// The names of the contenders.
const (
	Cronce  = "cronce"
	Recipe  = "robfig + SET NX + DEL"
	Redsync = "gocron + redsync"
)

// Peers are the contenders other than cronce.
var Peers = []string{Recipe, Redsync}

// A Setup is a cluster to run.
type Setup struct {
	Contender  string
	Addr       string // of the Redis server
	Nodes      int
	Jobs       int
	Every      time.Duration // how often each job is due
	Aligned    bool          // due at whole multiples of Every by a cron spec, otherwise by "@every"
	Skew       time.Duration // of the first node's clock
	Stagger    time.Duration // between the starts of two nodes
	Partitions int           // cronce only
}

// Work is a job's function. Its arguments are the node, the job and the tick, as that node
// determines it.
type Work func(node, job int, tick time.Time)

// Run runs the cluster until ctx ends.
func Run(ctx context.Context, s Setup, work Work) error {
	start := map[string]func(Setup, int, Work) (func(context.Context) error, error){
		Cronce: startCronce, Recipe: startRecipe, Redsync: startRedsync,
	}[s.Contender]
	if start == nil {
		return fmt.Errorf("contend: %q is no contender", s.Contender)
	}
	var wg sync.WaitGroup
	failed := make(chan error, s.Nodes)
	for i := range s.Nodes {
		run, err := start(s, i, work)
		if err != nil {
			return fmt.Errorf("contend: node %d: %w", i, err)
		}
		wg.Go(func() { failed <- run(ctx) })
		if !measure.Pause(ctx, s.Stagger) {
			break
		}
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return fmt.Errorf("contend: %w", err)
		}
	}
	return nil
}

// skewOf returns the error of a node's clock.
func (s *Setup) skewOf(node int) time.Duration {
	if node == 0 {
		return s.Skew
	}
	return 0
}

// spec returns the schedule of the jobs in a form that all contenders read.
func (s *Setup) spec() string {
	switch {
	case !s.Aligned:
		return fmt.Sprintf("@every %v", s.Every)
	case s.Every == time.Second:
		return "* * * * * *"
	}
	return fmt.Sprintf("*/%d * * * * *", int(s.Every.Seconds()))
}

// usual returns a client like the one that most programs use.
func (s *Setup) usual() *redis.Client { return redis.NewClient(&redis.Options{Addr: s.Addr}) }

func jobName(job int) string { return fmt.Sprintf("job-%04d", job) }
