package main

import (
	"context"
	_ "embed" // what the nodes run
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
)

//go:embed demo.yaml
var demoFile []byte

const demoFileName = "demo.yaml"

type demoFlags struct {
	duration  time.Duration
	nodes     int
	redis     string
	killEvery time.Duration
	output    string
}

func demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch three nodes share their ticks, and see it proven",
		Long: "Start a Redis inside this process, then real node processes of this binary, and show their\n" +
			"logs together: each tick has one \"run started\". At the end, or on Ctrl-C, the nodes are\n" +
			"drained and the journal is verified.",
		Example: "  cronce demo\n  cronce demo --kill-every 10s",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			return runDemo(ctx, f, newDemoLog(cmd.OutOrStdout(), f.output))
		},
	}
	cmd.Flags().DurationVar(&f.duration, "for", time.Minute, "how long")
	cmd.Flags().IntVar(&f.nodes, "nodes", 3, "how many nodes, 1 to 50")
	cmd.Flags().StringVar(&f.redis, "redis", "", "a real Redis instead of the one inside, under a namespace of its own that is removed at the end")
	cmd.Flags().DurationVar(&f.killEvery, "kill-every", 0, "SIGKILL a random node so often, and start another (0: never)")
	outputFlag(cmd, &f.output)
	return cmd
}

func (f *demoFlags) check() error {
	switch {
	case f.duration < time.Second:
		return usagef("demo: --for is %v, allowed is 1s or more", f.duration)
	case f.nodes < 1 || f.nodes > 50:
		return usagef("demo: --nodes is %d, allowed is 1 to 50", f.nodes)
	case f.killEvery != 0 && f.killEvery < time.Second:
		return usagef("demo: --kill-every is %v, allowed is 1s or more, or 0 for never", f.killEvery)
	}
	return nil
}

// demoConfig is the configuration of a demo's nodes, on the Redis that a URL names; embedded, it
// is inside this process.
func demoConfig(url string, embedded bool) (*config.Config, error) {
	c, err := config.Read(config.Source{Name: demoFileName, Data: demoFile, Env: os.LookupEnv}, nil, func(c *config.Config) {
		c.Namespace = "demo-" + uuid.NewString()[:8]
		if embedded {
			c.SetEmbeddedRedis(url)
		} else {
			c.SetRedisURL(url, "--redis")
		}
	})
	if err != nil {
		return nil, refused(err)
	}
	return c, nil
}

// runDemo shows nodes at work until ctx ends or the time is over, and proves what
// they did. No node is left when it returns.
func runDemo(ctx context.Context, f demoFlags, log *demoLog) error {
	s, err := openDemoStore(f.redis)
	if err != nil {
		return err
	}
	defer s.close()
	imported, err := s.fill(ctx)
	if err != nil {
		return err
	}
	log.intro(f, s.config, imported)
	fleet := &fleet{config: s.config, log: log, dead: make(chan *process, 1)}
	defer fleet.kill()
	began := time.Now()
	err = fleet.show(ctx, f)
	fleet.drain()
	if err != nil {
		return err
	}
	return s.report(log, fleet, imported, time.Since(began))
}

// show keeps the nodes running, and kills them as it is asked to.
func (fl *fleet) show(ctx context.Context, f demoFlags) error {
	ctx, stop := context.WithTimeout(ctx, f.duration)
	defer stop()
	for range f.nodes {
		if err := fl.start(); err != nil {
			return err
		}
	}
	return fl.tend(ctx, f.killEvery)
}

// tend watches the nodes until ctx ends: none may end by itself.
func (fl *fleet) tend(ctx context.Context, killEvery time.Duration) error {
	var kill <-chan time.Time
	if killEvery > 0 {
		t := time.NewTicker(killEvery)
		defer t.Stop()
		kill = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-fl.dead:
			if !p.ending {
				return fmt.Errorf("demo: %s ended by itself: %w", p.name, p.err)
			}
		case <-kill:
			if err := fl.replaceOne(); err != nil {
				return err
			}
		}
	}
}
