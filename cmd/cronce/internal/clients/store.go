// Package clients builds the clients of a configuration: of the Redis, with its lock driver, and of
// the database of a shop. All clients of the binary are made here.
package clients

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// A Store gives a command access to the store of the cluster.
type Store struct {
	Config *config.Config
	Client redis.UniversalClient
	Driver *redislock.Driver
}

// storeTimeout bounds a command that reads the store and ends.
const storeTimeout = 2 * time.Minute

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
	defer s.Client.Close()
	ctx, stop := context.WithTimeout(cmd.Context(), storeTimeout)
	defer stop()
	return f(ctx, s)
}

// NewStore builds the store of a configuration. It sends nothing; the caller closes its client.
func NewStore(c *config.Config) (*Store, error) {
	client, err := Redis(c)
	if err != nil {
		return nil, err
	}
	d, err := Driver(c, client)
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return &Store{Config: c, Client: client, Driver: d}, nil
}

// Front returns the driver behind the validation of requests: keys and texts come from the command line.
func (s *Store) Front() driver.Front { return driver.Front{Driver: s.Driver} }

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

// Failed adds the name of the Redis, and the cause if it is known, to an error.
func (s *Store) Failed(err error) error {
	if why := s.Driver.Explain(err); why != "" {
		err = fmt.Errorf("%s: %w", why, err)
	}
	return exit.Doubt(fmt.Errorf("%s: %w", s.Config.RedisName(), err))
}

// NoRecord returns the doubt about a namespace without a job. It may be a namespace in which no
// node was ever started, a store that lost its data, or the wrong store.
func (s *Store) NoRecord() error {
	return exit.Doubt(fmt.Errorf("no job is on record in namespace %q of %s: none was opened there, or the store lost its data", s.Config.Namespace, s.Config.RedisName()))
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
	err = exit.Usagef("job %s is not known in namespace %q of %s", strictyaml.Quote(only), s.Config.Namespace, s.Config.RedisName())
	if near := strictyaml.Nearest(only, keys); near != "" {
		err = exit.Usagef("%w, did you mean %q?", err, near)
	}
	return nil, err
}
