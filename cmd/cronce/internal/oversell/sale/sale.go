// Package sale sells out a product through strategies of package oversell, to buyers that come at
// once from several processes, and prints what each strategy cost and whether it sold too much.
package sale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/oversell"
)

// Options say what is sold, where, and how. All fields but Redis, ZooKeeper and DSN are needed.
type Options struct {
	Stock, Buyers, Processes int
	Work                     time.Duration   // between reading the stock and writing it
	Patience                 time.Duration   // how long a buyer waits for an answer
	Strategies               []oversell.Kind // in the order of the table
	Redis                    []string        // URLs; none: servers inside this process
	ZooKeeper                []string        // host:port; none: its strategy does not run
	DSN                      string          // as config.ParseDSN takes it; empty: an SQLite file of this run
	JSON                     bool            // print for machines

	Worker func() *exec.Cmd           // a process that calls Work
	Warn   func(setting, text string) // of what is sent in plain text; nil: not warned of
}

// Connect makes a client of the Redis at a URL, with the options that set changes, and returns
// with it how the Redis may be shown. Embedded, what the environment says about another Redis does
// not count. Warn may be nil.
type Connect func(url string, embedded bool, warn func(setting, text string), set func(*redis.UniversalOptions)) (client redis.UniversalClient, shown string, err error)

// ErrBroken is the error of a run in which a strategy sold too much that must not.
var ErrBroken = errors.New("a strategy oversold that must not")

// Run sells through each strategy in turn, and prints to stdout; the workers print errors to
// stderr. It returns ErrBroken once all is printed. No process, and nothing in a store, is left
// when it returns, but the tables of leases, which other applications may share.
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
