package opscommands

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/listen"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/ops/access"
	"github.com/cronce/cronce/ops/metrics"
	"github.com/cronce/cronce/ops/notify"
	"github.com/cronce/cronce/ops/web"
)

// OpsCommand returns the command ops, with its subcommand token.
func OpsCommand() *cobra.Command {
	var dev bool
	var address string
	cmd := &cobra.Command{
		Use:   "ops",
		Short: "Serve pages, API and metrics of a namespace",
		Long: "Serve the data of status, runs and why, as pages for a browser, as JSON below /api/v1, and as\n" +
			"metrics, until SIGTERM, SIGINT or SIGHUP. It needs the store and no node. Run two of them for availability.\n" +
			"Callers with the role operator or admin also pause, resume, run, cancel, skip and backfill there; a viewer reads.\n\n" +
			"It denies by default: it listens at ops.address, and answers only callers with a token of ops.tokens_file:\n" +
			"see cronce ops token new. With --dev it needs no configuration: it listens on this machine alone, and prints an address\n" +
			"that begins one session, once.",
		Example: "  cronce ops --dev\n  cronce ops --config config.yaml",
		Args:    command.NoneBelow,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !dev && cmd.Flags().Changed("listen") {
				return exit.Usagef("ops: --listen is for --dev; otherwise ops.address in the file says where it listens")
			}
			return serveOps(cmd, dev, address)
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().BoolVar(&dev, "dev", false, "serve on this machine alone, with an address that works once")
	cmd.Flags().StringVar(&address, "listen", "127.0.0.1:8090", "with --dev: the address; port 0: any free port")
	cmd.AddCommand(tokenCommand())
	return cmd
}

// collectAt is the growth of the heap, in percent, after which a plane collects garbage. Most of the heap is the
// state of all jobs, which lives long. So 50 instead of 100 saves a quarter of the memory for half a percent of a core.
const collectAt = 50

func serveOps(cmd *cobra.Command, dev bool, address string) error {
	c, err := command.LoadConfig(cmd)
	if err != nil {
		return err
	}
	command.OutlivePipes()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	log, flush := terminal.NewLogger(c.Log.Level, c.Log.Format, cmd.ErrOrStderr())
	defer flush()
	c.OnStale(func(err error) { log.Warn("secret not read again", "err", err.Error()) })
	if !dev {
		return serveConfigured(cmd, c, log)
	}
	s, err := clients.NewStore(c)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := command.WithSignals(cmd.Context())
	defer stop()
	return Dev(ctx, s, log, address, func(url string) {
		fmt.Fprintf(cmd.OutOrStdout(), "Open %s\nThe address begins one session, once. Ctrl-C ends it.\n", url)
	})
}

// serveConfigured serves the pages and metrics of the section ops. It checks the section before it
// opens the store.
func serveConfigured(cmd *cobra.Command, c *config.Config, log *slog.Logger) error {
	if c.Ops == nil || (config.HTTP{Address: c.Ops.Address}).Off() {
		return exit.Usagef("ops: the configuration has no ops.address, so nothing is served; --dev serves this machine alone")
	}
	gate, err := gateOf(c)
	if err != nil {
		return command.ConfigError(err)
	}
	alerts, err := alertsOf(c)
	if err != nil {
		return command.ConfigError(err)
	}
	s, err := clients.NewStore(c)
	if err != nil {
		return err
	}
	defer s.Close()
	listener, err := opsListener(c, log)
	if err != nil {
		return err
	}
	ctx, stop := command.WithSignals(cmd.Context())
	defer stop()
	log.Info("ops served", "address", listener.Addr().String(), "namespace", c.Namespace)
	return serve(ctx, s, plane{log: log, gate: gate, hosts: c.Ops.Hosts, listener: listener, alerts: alerts})
}

// cookieOf returns the name of the cookie of a namespace, so that two namespaces on one host do not
// end each other's sessions.
func cookieOf(c *config.Config) string { return "cronce-" + c.Namespace }

func gateOf(c *config.Config) (*access.Gate, error) {
	tokens, err := c.OpsTokens()
	if err != nil {
		return nil, err
	}
	key, err := c.OpsSessionKey()
	if err != nil {
		return nil, err
	}
	return access.NewGate(access.Options{Tokens: tokens, Cookie: cookieOf(c), Secure: c.Ops.TLS.Cert != "" || c.Ops.BehindProxy, Key: key}), nil
}

func opsListener(c *config.Config, log *slog.Logger) (net.Listener, error) {
	listener, err := listen.Listen(c.Ops.Address, maxConnections)
	if err != nil {
		return nil, fmt.Errorf("ops.address: %w", err)
	}
	if c.Ops.TLS.Cert == "" {
		return listener, nil
	}
	pair, err := config.NewCurrent(c, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(c.Ops.TLS.Cert, c.Ops.TLS.Key)
		if err != nil {
			return nil, c.Fault("ops.tls", "names a certificate that cannot be used: %v", err)
		}
		return &pair, nil
	}, c.Ops.TLS.Cert, c.Ops.TLS.Key)
	if err != nil {
		_ = listener.Close()
		return nil, command.ConfigError(err)
	}
	life := expiry{log: log}
	use := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		served := pair.Value()
		life.check(served.Leaf)
		return served, nil
	}
	_, _ = use(nil) // it may have expired before the first connection
	return tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: use}), nil
}

// maxConnections is the most open connections, including streams.
const maxConnections = 1024

// Dev serves only this machine until ctx ends. It calls open with the address that begins one
// session.
func Dev(ctx context.Context, s *clients.Store, log *slog.Logger, address string, open func(url string)) error {
	if host, _, _ := net.SplitHostPort(address); host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return exit.Usagef("ops: --listen is %q, must be an address of this machine alone, such as 127.0.0.1:8090", address)
	}
	owner, _, err := access.NewToken("dev", access.Operator)
	if err != nil {
		return err
	}
	once := rand.Text()
	gate := access.NewGate(access.Options{Tokens: func() []access.Token { return []access.Token{owner} }, Cookie: cookieOf(s.Config), OneTime: once})
	listener, err := listen.Listen(address, maxConnections)
	if err != nil {
		return err
	}
	open("http://" + listener.Addr().String() + "/login?token=" + once)
	return serve(ctx, s, plane{log: log, gate: gate, listener: listener})
}

// A plane has the parts that the configuration and the flags decide.
type plane struct {
	log      *slog.Logger
	gate     *access.Gate
	hosts    []string
	listener net.Listener
	alerts   notify.Options // without receivers: nothing is sent
}

// serve serves a namespace until ctx ends, and sends its alerts.
func serve(ctx context.Context, s *clients.Store, o plane) error {
	p := projection(s)
	alerts := notifier(s, p, o)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), metrics.New(p), alerts,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "cronce_ops_tokens", Help: "Tokens that this plane accepts."}, func() float64 { return float64(o.gate.Tokens()) }))
	handler, err := web.New(web.Options{Projection: p, Store: s.Front(), Gate: o.gate, Hosts: o.hosts, Log: o.log,
		Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})})
	if err != nil {
		_ = o.listener.Close()
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return ctx }, // streams end with it
		ReadHeaderTimeout: 2 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      15 * time.Second, // a stream sets its own
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          terminal.ServerLog(o.log),
	}
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	running.Go(func() { logStore(ctx, p, o.log) })
	running.Go(func() { alerts.Run(ctx) })
	failed := make(chan error, 1)
	running.Go(func() { failed <- server.Serve(o.listener) })
	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
	}
	stop()
	shutDown(server)
	running.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// shutDown ends a server. A change that was begun goes on, and its caller gets the answer; streams and readings have ended with their
// context.
func shutDown(server *http.Server) {
	grace, cancel := context.WithTimeout(context.Background(), web.ChangeTimeout+time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		_ = server.Close()
	}
}

func tokenCommand() *cobra.Command {
	var role, header string
	cmd := &cobra.Command{
		Use:   "new <id>",
		Short: "Make a token, and print it once",
		Long: "Make a token for a caller of cronce ops. A viewer reads; an operator, or an admin, also makes changes: pause, resume, run, cancel, skip and backfill. The token is printed on standard output, once: only its SHA-256 is\n" +
			"kept, in the line on standard error. Append that line to the file of ops.tokens_file.\n\n" +
			"With --user-header the token is for a proxy that signs people in: a request with it has the rights of the role, and its caller\n" +
			"is the user whom the header names. The proxy must set the header itself, and remove one that its client sent.",
		Example: "  cronce ops token new grafana --role viewer 2>>tokens\n  cronce ops token new gateway --role operator --user-header X-Forwarded-Email 2>>tokens",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("ops token new: got %s, want the id of the caller", terminal.Plural(len(args), "argument"))
			}
			r, err := access.ParseRole(role)
			if err != nil {
				return exit.Usagef("ops token new: --%w", err)
			}
			t, text, err := access.NewToken(args[0], r)
			if err != nil {
				return exit.Usagef("ops token new: %w", err)
			}
			if cmd.Flags().Changed("user-header") {
				if t, err = t.WithUserHeader(header); err != nil {
					return exit.Usagef("ops token new: --user-header: %w", err)
				}
			}
			if _, err := io.WriteString(cmd.OutOrStdout(), text+"\n"); err != nil {
				return err
			}
			_, err = io.WriteString(cmd.ErrOrStderr(), t.Line()+"\n")
			return err
		},
	}
	cmd.Flags().StringVar(&role, "role", "viewer", "viewer, operator or admin")
	cmd.Flags().StringVar(&header, "user-header", "", "for a proxy: the header in which it names the user, such as X-Forwarded-Email")
	return command.Group("token", "Make tokens for callers of cronce ops", cmd)
}
