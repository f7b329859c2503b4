// Package clients builds the clients of a configuration: of the store, with its lock driver, and of
// the database of a shop. All clients of the binary are made here.
package clients

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

// A Driver is a store with all capabilities that commands use. Each store of the binary has them.
type Driver interface {
	driver.Driver
	driver.Waiter
	series.Numbered
	series.Peeker
	series.Controlled
	series.Journaled
	series.OutputKeeper
	driver.Inspector
	driver.Forcer
	series.Membership
	driver.Clocked
	driver.StoreChecker
	driver.Namespaced
	driver.Explainer
	driver.Refuser
}

// A Store gives a command access to the store of the cluster.
type Store struct {
	Config *config.Config
	Driver Driver
	Client redis.Cmdable // the client of a Redis; nil: the store is another one

	close  func()
	memory *memlock.Store // the store of a node without a cluster; then Driver is nil
}

// Close frees the connections.
func (s *Store) Close() {
	if c, ok := s.Driver.(io.Closer); ok {
		_ = c.Close()
	}
	s.close()
}

// Timeout bounds a command that reads the store and ends.
const Timeout = 2 * time.Minute

// WithStore calls f with the store that the command's flags name.
func WithStore(cmd *cobra.Command, f func(ctx context.Context, s *Store) error) error {
	c, err := command.LoadConfig(cmd)
	if err != nil {
		return err
	}
	s, err := NewStore(c)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := context.WithTimeout(cmd.Context(), Timeout)
	defer stop()
	return f(ctx, s)
}

// NewStore builds the store of a configuration. It sends nothing, and makes no file; the caller
// closes it.
func NewStore(c *config.Config) (*Store, error) {
	s := &Store{Config: c, close: func() {}}
	err := s.open()
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) open() error {
	switch a := s.Config.Address(); a.Kind {
	case config.StoreRedis:
		return s.openRedis()
	case config.StoreSQLite:
		return s.openSQLite(a)
	case config.StoreZooKeeper:
		return s.openZooKeeper(a)
	case config.StoreMemory:
		return exit.Usage(s.Config.Fault("store", "is memory:, which other processes cannot read: it is for a node alone"))
	}
	return s.openDatabase()
}

func (s *Store) openRedis() error {
	client, err := Redis(s.Config)
	if err != nil {
		return err
	}
	d, err := RedisDriver(s.Config, client)
	if err != nil {
		_ = client.Close()
		return err
	}
	s.Client, s.Driver, s.close = client, d, func() { _ = client.Close() }
	return nil
}

// Front returns the driver behind the validation of requests, because keys and texts come from the
// command line.
func (s *Store) Front() series.Front { return series.FrontOf(s.Driver) }

// Now returns the store's clock; in a Cluster, the latest clock of its masters.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	readings, err := s.Driver.Now(ctx)
	if err != nil {
		return time.Time{}, s.Failed(err)
	}
	var now time.Time
	for _, r := range readings {
		if r.Time.After(now) {
			now = r.Time
		}
	}
	return now, nil
}

// Failed adds the name of the store, and the cause if it is known, to an error.
func (s *Store) Failed(err error) error {
	if why := s.Driver.Explain(err); why != "" {
		err = fmt.Errorf("%s: %w", why, err)
	}
	named := fmt.Errorf("%s: %w", s.Config.StoreName(), err)
	if s.Client == nil && s.Driver.Refuses(err) {
		return exit.With(exit.Refused, named)
	}
	return exit.Doubt(named)
}

// NoRecord returns the doubt about a namespace without a job. It may be a namespace in which no
// node was ever started, a store that lost its data, or the wrong store.
func (s *Store) NoRecord() error {
	return exit.Doubt(fmt.Errorf("no job is on record in namespace %q of %s: none was opened there, or the store lost its data", s.Config.Namespace, s.Config.StoreName()))
}

// Jobs returns the jobs of the namespace, or only the named one. If a part of the store does not
// answer, the jobs of the other parts come with the error.
func (s *Store) Jobs(ctx context.Context, only string) ([]string, error) {
	keys, err := s.Driver.Keys(ctx)
	if only != "" && slices.Contains(keys, only) {
		return []string{only}, nil
	}
	if err != nil {
		err = s.Failed(err)
	}
	if err != nil && only != "" {
		return nil, err
	}
	if err != nil || only == "" {
		return keys, err
	}
	if len(keys) == 0 {
		return nil, s.NoRecord()
	}
	err = exit.Usagef("job %s is not known in namespace %q of %s: no node has opened it", strictyaml.Quote(only), s.Config.Namespace, s.Config.StoreName())
	if near := strictyaml.Nearest(only, keys); near != "" {
		err = exit.Usagef("%w, did you mean %q?", err, near)
	}
	return nil, err
}
