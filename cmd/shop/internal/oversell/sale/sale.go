// Package sale sells a product through the strategies of package oversell to concurrent buyers in
// several processes, and prints the cost of each strategy and whether it oversold.
package sale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// Options are the options of a run. All fields but Redis, ZooKeeper and DSN are required.
type Options struct {
	Stock, Buyers, Processes int
	Work                     time.Duration   // between reading the stock and writing it
	Patience                 time.Duration   // bound for a buyer's wait
	Strategies               []oversell.Kind // in the order of the table
	Redis                    []string        // URLs; none: servers inside this process
	ZooKeeper                []string        // host:port; none: its strategy does not run
	DSN                      string          // as config.ParseDSN takes it; empty: an SQLite file of this run
	JSON                     bool            // print for machines

	Worker func() *exec.Cmd           // a process that calls Work
	Warn   func(setting, text string) // called for secrets in plain text; nil: no warnings
}

// Connect makes a client of the Redis at a URL, with options that set changes, and returns it with
// a printable name of the Redis. Embedded reports that the Redis is inside this process, so that
// the environment's settings for a Redis are ignored. Warn may be nil.
type Connect func(url string, embedded bool, warn func(setting, text string), set func(*redis.UniversalOptions)) (client redis.UniversalClient, shown string, err error)

// ErrBroken is the error of a run in which a correct strategy oversold.
var ErrBroken = errors.New("a strategy oversold that must not")

// Run sells through each strategy in turn, and prints to stdout; the workers print errors to
// stderr. It returns ErrBroken after it has printed everything. When it returns, no process and no
// data in a store is left, except the tables of leases, which other applications may share.
func Run(ctx context.Context, o Options, c Connect, stdout, stderr io.Writer) error {
	s, err := openStores(ctx, &o, c)
	if err != nil {
		return err
	}
	defer s.close()
	w, err := startWorkers(ctx, s, &o, stderr)
	if err != nil {
		return err
	}
	defer w.stop()
	t := newTable(stdout, &o, s.where())
	t.header()
	for _, k := range o.Strategies {
		t.begin(k)
		result, err := s.sell(ctx, w, k)
		if err != nil {
			t.endRow()
			return fmt.Errorf("oversell: %s: %w", k.Name, err)
		}
		t.add(k, result)
	}
	return t.summary()
}
