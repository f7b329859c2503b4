package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/shop/internal/oversell"
	"github.com/cronce/cronce/cmd/shop/internal/oversell/sale"
)

type oversellFlags struct {
	stock, buyers, processes int
	work, patience           time.Duration
	strategies               []string
	redis, zookeeper         []string
	dsn, dsnEnv, dsnFile     string
	output                   string
	worker                   bool
}

// The bounds of the flags.
const (
	maxStock     = 1_000_000
	maxBuyers    = 100_000
	maxProcesses = 32
	maxWork      = 10 * time.Second
	maxPatience  = time.Hour
)

// The default work, which is less for a large stock, because some strategies do it for one buyer at
// a time.
const (
	usualWork = 20 * time.Millisecond
	allWork   = 2 * time.Second
)

func oversellCommand() *cobra.Command {
	var f oversellFlags
	cmd := &cobra.Command{
		Use:   "oversell",
		Short: "Sell out a product in each usual way to guard stock, and see which ways oversell",
		Long: "Sell the same product through each strategy to concurrent buyers in several real processes of this\n" +
			"binary, and print the cost of each strategy and whether it sold more than there was.\n\n" +
			strategyHelp() + "\n" +
			"It needs no server: Redis runs inside this process, the database is an SQLite file, and zookeeper is\n" +
			"left out. Everything that it creates in a real store has a unique name and is removed at the end. Only\n" +
			"the empty tables of sql-lease stay, because other applications may share them.\n\n" +
			"Exit code: 1 if a strategy that must be exact was not, 2 for wrong usage, 4 if a store does not answer.",
		Example: "  shop oversell\n" +
			"  shop oversell --stock 1000 --buyers 5000 --processes 3\n" +
			"  shop oversell --redis redis://127.0.0.1:6379 --dsn postgres://shop@127.0.0.1/shop",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.worker {
				return sale.Work(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), connectRedis)
			}
			if err := f.check(); err != nil {
				return err
			}
			if !cmd.Flags().Changed("work") {
				f.work = min(usualWork, allWork/time.Duration(f.stock))
			}
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.stock, "stock", 5, "how many items there are")
	flags.IntVar(&f.buyers, "buyers", 10, "number of concurrent buyers, for one item each")
	flags.IntVar(&f.processes, "processes", 3, "number of processes for the buyers")
	flags.DurationVar(&f.work, "work", 0, "duration of the shop's work between reading and writing (default 20ms, and 2s at most for all items)")
	flags.DurationVar(&f.patience, "patience", 5*time.Minute, "how long a buyer waits for an answer")
	flags.StringSliceVar(&f.strategies, "strategy", nil, "only these strategies")
	flags.StringArrayVar(&f.redis, "redis", nil, "a real Redis, without a password: redis://[user@]host[:port][/db], the password is in $"+config.PasswordEnv+
		"; named 3, 5 or 7 times, redlock uses them all")
	flags.StringVar(&f.dsn, "dsn", "", "a real database, without a password: postgres:// or mysql://user@host:port/database, or sqlite:path")
	flags.StringVar(&f.dsnEnv, "dsn-env", "", "name of a variable with the DSN, which may have a password")
	flags.StringVar(&f.dsnFile, "dsn-file", "", "name of a file with the DSN, which may have a password")
	flags.StringSliceVar(&f.zookeeper, "zookeeper", nil, "the servers of a real ZooKeeper, host:port,host:port")
	flags.BoolVar(&f.worker, "worker", false, "sell in this process, controlled by its standard input")
	_ = flags.MarkHidden("worker")
	command.OutputFlag(cmd, &f.output)
	return cmd
}

func strategyHelp() string {
	var b strings.Builder
	for _, k := range oversell.Kinds() {
		fmt.Fprintf(&b, "  %-16s %s\n", k.Name, k.About)
	}
	return b.String()
}

func (f *oversellFlags) check() error {
	switch {
	case f.stock < 1 || f.stock > maxStock:
		return exit.Usagef("oversell: --stock is %d, must be 1 to %d", f.stock, maxStock)
	case f.buyers < 1 || f.buyers > maxBuyers:
		return exit.Usagef("oversell: --buyers is %d, must be 1 to %d", f.buyers, maxBuyers)
	case f.processes < 1 || f.processes > min(maxProcesses, f.buyers):
		return exit.Usagef("oversell: --processes is %d, must be 1 to %d, and no more than buyers", f.processes, maxProcesses)
	case f.work < 0 || f.work > maxWork:
		return exit.Usagef("oversell: --work is %v, must be up to %v", f.work, maxWork)
	case f.patience < time.Second || f.patience > maxPatience:
		return exit.Usagef("oversell: --patience is %v, must be 1s to 1h", f.patience)
	case !slices.Contains([]int{0, 1, 3, 5, 7}, len(f.redis)):
		return exit.Usagef("oversell: --redis is given %d times, must be once, or 3, 5 or 7 times for redlock", len(f.redis))
	}
	for _, server := range f.zookeeper {
		if host, port, err := net.SplitHostPort(server); err != nil || host == "" || port == "" {
			return exit.Usagef("oversell: --zookeeper is %s, must be host:port, or several with commas between", strictyaml.Quote(server))
		}
	}
	if len(f.zookeeper) == 0 && slices.Contains(f.strategies, "zookeeper") {
		return exit.Usagef("oversell: --strategy is \"zookeeper\", which needs --zookeeper")
	}
	return f.checkStrategies()
}

// checkStrategies refuses unknown names.
func (f *oversellFlags) checkStrategies() error {
	var names []string
	for _, k := range oversell.Kinds() {
		names = append(names, k.Name)
	}
	for _, name := range f.strategies {
		if slices.Contains(names, name) {
			continue
		}
		err := exit.Usagef("oversell: --strategy is %s, must be %s", strictyaml.Quote(name), strings.Join(names, ", "))
		if near := strictyaml.Nearest(name, names); near != "" {
			err = exit.Usagef("%w, did you mean %q?", err, near)
		}
		return err
	}
	return nil
}

// kinds returns the selected strategies, in the order of the table.
func (f *oversellFlags) kinds() []oversell.Kind {
	return slices.DeleteFunc(oversell.Kinds(), func(k oversell.Kind) bool {
		return len(f.strategies) > 0 && !slices.Contains(f.strategies, k.Name)
	})
}

// database returns the DSN; empty: an SQLite file of this run.
func (f *oversellFlags) database() (string, error) {
	flag, dsn, named := "--dsn", f.dsn, 0
	for _, s := range []string{f.dsn, f.dsnEnv, f.dsnFile} {
		if s != "" {
			named++
		}
	}
	if named > 1 {
		return "", exit.Usagef("oversell: more than one of --dsn, --dsn-env and --dsn-file is given, give one of them")
	}
	switch {
	case f.dsnEnv != "":
		flag = "--dsn-env"
		secret, _ := config.Default(os.LookupEnv).ReadSecret("dsn", "", f.dsnEnv, "")
		if dsn = secret.Text(); dsn == "" {
			return "", exit.Usagef("oversell: %s names a variable that is not set", flag)
		}
	case f.dsnFile != "":
		flag = "--dsn-file"
		line, err := config.Default(os.LookupEnv).SecretFile("dsn", f.dsnFile)
		if err != nil {
			return "", exit.Usagef("oversell: %s: %w", flag, err)
		}
		dsn = line.Text()
	case dsn == "":
		return "", nil
	}
	d, err := config.ParseDSN(dsn)
	switch {
	case err != nil:
		return "", exit.Usagef("oversell: %s %w", flag, err)
	case d.HasPassword && f.dsn != "":
		return "", exit.Usagef("oversell: --dsn has a password, which may not stand here: name a variable or a file that has the DSN with --dsn-env or --dsn-file")
	}
	return dsn, nil
}

// run sells through each strategy in turn.
func (f *oversellFlags) run(cmd *cobra.Command) error {
	ctx, stop := command.WithSignals(cmd.Context())
	defer stop()
	dsn, err := f.database()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("oversell: find this binary: %w", err)
	}
	return coded(sale.Run(ctx, sale.Options{
		Stock: f.stock, Buyers: f.buyers, Processes: f.processes, Work: f.work, Patience: f.patience, Strategies: f.kinds(),
		Redis: f.redis, ZooKeeper: f.zookeeper, DSN: dsn, JSON: f.output == command.OutputJSON,
		Worker: func() *exec.Cmd {
			worker := exec.Command(self, "oversell", "--worker")
			worker.Env = os.Environ()
			return worker
		},
		Warn: command.WarnTo(cmd),
	}, connectRedis, cmd.OutOrStdout(), cmd.ErrOrStderr()))
}

// coded gives the error of a run its exit code. The table has shown already which strategy oversold.
func coded(err error) error {
	if errors.Is(err, sale.ErrBroken) {
		return exit.Printed(exit.Failed, err.Error())
	}
	return err
}

// connectRedis makes a client of the Redis at a URL for a demonstration, which has no configuration
// file.
func connectRedis(url string, embedded bool, warn func(setting, text string), set func(*redis.UniversalOptions)) (redis.UniversalClient, string, error) {
	c, err := config.Read(config.Source{Env: os.LookupEnv}, nil, func(c *config.Config) {
		if embedded {
			c.SetEmbeddedRedis(url)
		} else {
			c.SetRedisURL(url, "--redis")
		}
		c.OnPlaintext(warn)
	})
	if err != nil {
		return nil, "", command.ConfigError(err)
	}
	client, err := clients.RedisWith(c, set)
	return client, c.RedisName(), err
}
