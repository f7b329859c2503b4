package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
	"github.com/cronce/cronce/lock/redislock"
)

// A store is what a command asks about the cluster.
type store struct {
	config *config.Config
	client redis.UniversalClient
	driver *redislock.Driver
}

// storeTimeout bounds a command that asks the store and ends.
const storeTimeout = 2 * time.Minute

// withStore lets f ask the store that the command's flags name.
func withStore(cmd *cobra.Command, f func(ctx context.Context, s *store) error) error {
	c, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	s, err := newStore(c)
	if err != nil {
		return err
	}
	defer s.client.Close()
	ctx, stop := context.WithTimeout(cmd.Context(), storeTimeout)
	defer stop()
	return f(ctx, s)
}

func newStore(c *config.Config) (*store, error) {
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	driver, err := newDriver(c, client)
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return &store{config: c, client: client, driver: driver}, nil
}

// now is the store's clock; in a Cluster the latest of its masters'.
func (s *store) now(ctx context.Context) (time.Time, error) {
	readings, err := s.driver.Now(ctx)
	if err != nil {
		return time.Time{}, s.failed(err)
	}
	var now time.Time
	for _, r := range readings {
		if r.Time.After(now) {
			now = r.Time
		}
	}
	return now, nil
}

// failed says which Redis it was, and why it failed, if that is known.
func (s *store) failed(err error) error {
	if why := s.driver.Explain(err); why != "" {
		err = fmt.Errorf("%s: %w", why, err)
	}
	return &doubtError{fmt.Errorf("%s: %w", s.config.RedisName(), err)}
}

// noRecord is the doubt about a namespace without a job: a store that lost all its data looks the
// same as one in which no node was ever started, or as another than the one that was meant.
func (s *store) noRecord() error {
	return &doubtError{fmt.Errorf("no job is on record in namespace %q of %s: none was opened there, or the store lost its data", s.config.Namespace, s.config.RedisName())}
}

// jobs lists the jobs of the namespace, or the one that is asked for. Where a part of the
// store does not answer, the jobs of the others come with the error.
func (s *store) jobs(ctx context.Context, only string) ([]string, error) {
	keys, err := s.driver.Keys(ctx)
	if only != "" && slices.Contains(keys, only) {
		return []string{only}, nil
	}
	if err != nil {
		err = s.failed(err)
	}
	if err != nil && only != "" {
		return nil, err
	}
	if err != nil || only == "" {
		return keys, err
	}
	if len(keys) == 0 {
		return nil, s.noRecord()
	}
	err = usagef("job %s is not known in namespace %q of %s", shorten(only), s.config.Namespace, s.config.RedisName())
	if near := strictyaml.Nearest(only, keys); near != "" {
		err = usagef("%w, did you mean %q?", err, near)
	}
	return nil, err
}
