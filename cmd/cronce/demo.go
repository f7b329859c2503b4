package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/demo"
	"github.com/cronce/cronce/cmd/cronce/internal/inspect"
	"github.com/cronce/cronce/cmd/cronce/internal/opscommands"
	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/jobs/sms"
)

type demoFlags struct {
	duration  time.Duration
	nodes     int
	redis     string
	killEvery time.Duration
	output    string
	ops       bool
}

func demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch three nodes share their ticks, and see it proven",
		Long: "Start a Redis inside this process, then real node processes of this binary, and show their\n" +
			"logs together: each tick has one \"run started\". At the end, or on Ctrl-C, the nodes are\n" +
			"drained and the journal is verified.",
		Example: "  cronce demo\n  cronce demo --kill-every 10s\n  cronce demo --ops --for 10m --kill-every 20s",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			ctx, stop := command.WithSignals(cmd.Context())
			defer stop()
			o := demo.Options{Duration: f.duration, Nodes: f.nodes, Redis: f.redis, KillEvery: f.killEvery, JSON: f.output == command.OutputJSON}
			err := demo.Run(ctx, o, cmd.OutOrStdout(), func(url string, embedded bool) (*demo.Cluster, error) { return openDemo(url, embedded, f.ops) })
			if errors.Is(err, demo.ErrBroken) {
				return exit.Printed(exit.Failed, err.Error())
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&f.duration, "for", time.Minute, "duration of the demo")
	cmd.Flags().IntVar(&f.nodes, "nodes", 3, "number of nodes, 1 to 50")
	cmd.Flags().StringVar(&f.redis, "redis", "", "a real Redis instead of the built-in one, with a namespace of its own that is removed at the end")
	cmd.Flags().DurationVar(&f.killEvery, "kill-every", 0, "interval at which a random node gets SIGKILL and another one is started (0: never)")
	cmd.Flags().BoolVar(&f.ops, "ops", false, "show the cluster in a browser too, at an address that is printed and works once")
	command.OutputFlag(cmd, &f.output)
	return cmd
}

func (f *demoFlags) check() error {
	switch {
	case f.duration < time.Second:
		return exit.Usagef("demo: --for is %v, must be 1s or more", f.duration)
	case f.nodes < 1 || f.nodes > 50:
		return exit.Usagef("demo: --nodes is %d, must be 1 to 50", f.nodes)
	case f.killEvery != 0 && f.killEvery < time.Second:
		return exit.Usagef("demo: --kill-every is %v, must be 1s or more, or 0 for never", f.killEvery)
	}
	return nil
}

// demoConfig returns the configuration of a demo's nodes, on the Redis at a URL. Embedded is set if
// the Redis is inside this process.
func demoConfig(url string, embedded bool) (*config.Config, error) {
	c, err := config.Read(config.Source{Name: demo.FileName, Data: demo.File, Env: os.LookupEnv}, nil, func(c *config.Config) {
		c.Namespace = "demo-" + uuid.NewString()[:8]
		if embedded {
			c.SetEmbeddedRedis(url)
		} else {
			c.SetRedisURL(url, "--redis")
		}
	})
	if err != nil {
		return nil, command.ConfigError(err)
	}
	return c, nil
}

// openDemo opens the cluster of a demo, with pages if requested.
func openDemo(url string, embedded, pages bool) (*demo.Cluster, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("demo: find this binary: %w", err)
	}
	c, err := demoConfig(url, embedded)
	if err != nil {
		return nil, err
	}
	s, err := clients.NewStore(c)
	if err != nil {
		return nil, err
	}
	outbox, err := sms.NewOutbox(s.Client, sms.Options{Namespace: c.Namespace})
	if err != nil {
		s.Close()
		return nil, err
	}
	cluster := &demo.Cluster{
		Namespace: c.Namespace, RedisName: c.RedisName(), Client: s.Client, Close: s.Close, Outbox: outbox, Failed: s.Failed, Prove: func(ctx context.Context) (demo.Proof, error) { return proveDemo(ctx, s) },
		Node: func(name string) *exec.Cmd {
			node := exec.Command(self, "node", "--demo", "--name", name, "--redis", c.Redis.URL, "--namespace", c.Namespace)
			node.Env = config.NodeEnv(os.Environ(), embedded)
			return node
		},
	}
	if pages {
		cluster.Pages = func(ctx context.Context, open func(url string)) error {
			return opscommands.Dev(ctx, s, slog.New(slog.DiscardHandler), "127.0.0.1:0", open)
		}
	}
	return cluster, nil
}

// proveDemo runs verify for all jobs.
func proveDemo(ctx context.Context, s *clients.Store) (demo.Proof, error) {
	p, err := inspect.Prove(ctx, s)
	if err != nil {
		return demo.Proof{}, err
	}
	return demo.Proof{OK: p.OK, Report: p, Print: p.Print}, nil
}
