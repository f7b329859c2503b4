package stock_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/jobs/stock/events"
	stockhttp "github.com/cronce/cronce/jobs/stock/http"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

// memberEnv makes this test binary a member: a process with a shop and its
// jobs. It ends when its standard input does, so that none outlives its test.
const memberEnv = "CRONCE_STOCK_MEMBER"

func TestMain(m *testing.M) {
	text := os.Getenv(memberEnv)
	if text == "" {
		os.Exit(sqlserver.Main(m))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := member(ctx, text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A setup is the settings of a member.
type setup struct {
	Name, Redis, Driver, DSN string
	Dialect                  stock.Dialect
	Hold                     time.Duration
	Settled                  bool   // what is acknowledged is in the book
	Restore                  bool   // the shelf is rebuilt from the book
	Hook                     string // where events are posted; empty: no events
}

const memberLease = time.Second

// member is the process: it serves the sale and runs its jobs until ctx ends.
func member(ctx context.Context, text string) error {
	var c setup
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	log := slog.New(zapslog.NewHandler(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(os.Stdout), zap.InfoLevel)))
	redis.SetLogger(quiet{})
	o := &redis.UniversalOptions{Addrs: []string{c.Redis}, ReadTimeout: 500 * time.Millisecond}
	redislock.Harden(o)
	client := redis.NewUniversalClient(o)
	defer client.Close()
	db, err := sql.Open(c.Driver, c.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	database, err := stock.NewDatabase(db, c.Dialect)
	if err != nil {
		return err
	}
	sale, err := stock.NewSale(client, stock.Options{Hold: c.Hold, Book: database, Settled: c.Settled, Restore: c.Restore})
	if err != nil {
		return err
	}
	jobs := []scheduler.Job{stock.SettleOrders(sale), stock.ReleaseExpired(sale), stock.Reconcile(sale)}
	if c.Hook != "" {
		deliver, err := events.Job(sale, events.Options{URL: c.Hook, Secrets: func() []string { return []string{"0123456789abcdef"} }})
		if err != nil {
			return err
		}
		jobs = append(jobs, deliver)
	}
	node, err := memberNode(c, client, log, jobs...)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: stockhttp.NewHandler(sale, stockhttp.Options{Log: log}), ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	serving.Go(func() { sale.Watch(watching, log) })
	log.Info("shop served", slog.String("address", listener.Addr().String()))
	err = node.Run(ctx)
	unwatch()
	_ = server.Close()
	serving.Wait()
	return err
}

// memberNode makes the jobs follow each other more quickly than a day in a shop.
func memberNode(c setup, client redis.UniversalClient, log *slog.Logger, jobs ...scheduler.Job) (*scheduler.Node, error) {
	store, err := redislock.New(client, redislock.Options{})
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		jobs[i].Lease, jobs[i].Spec = memberLease, "@every 1s"
	}
	jobs[2].Spec = "@every 2s" // reconcile
	return scheduler.New(scheduler.Config{Name: c.Name, Store: store, Logger: log, Jobs: jobs, Grace: 5 * time.Second})
}

// quiet keeps the client's own remarks out of the log.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// A process is a member that was started.
type process struct {
	name string
	cmd  *exec.Cmd
	gone chan struct{}

	mu      sync.Mutex
	address string
	broken  []string // lines that must never be
	failed  []string // its last lines on what failed
}

// launch starts a member.
func launch(t testing.TB, c setup, receive func(p *process, line map[string]any)) *process {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{name: c.Name, cmd: exec.Command(os.Args[0]), gone: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), memberEnv+"="+string(text))
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.gone)
		p.read(stdout, receive)
		_ = p.cmd.Wait() // the exit code says how it ended
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		p.kill()
		if t.Failed() {
			t.Logf("%s logged at last: %s", p.name, strings.Join(p.failed, "\n"))
		}
	})
	return p
}

// read follows the log of a member.
func (p *process) read(r io.Reader, receive func(*process, map[string]any)) {
	for scanner := bufio.NewScanner(r); scanner.Scan(); {
		var line map[string]any
		if json.Unmarshal(scanner.Bytes(), &line) != nil {
			continue // killed in the middle of it
		}
		p.mu.Lock()
		switch line["msg"] {
		case "shop served":
			p.address, _ = line["address"].(string)
		case "stock broken", "order lost", "order refused":
			p.broken = append(p.broken, scanner.Text())
		}
		if line["level"] == "error" || line["level"] == "warn" {
			p.failed = append(p.failed[max(0, len(p.failed)-4):], scanner.Text())
		}
		p.mu.Unlock()
		receive(p, line)
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // ends a stopped process too; gone already is what we want
	<-p.gone
}

// end asks the member to end, and returns how it did.
func (p *process) end() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.gone:
	case <-time.After(2 * time.Minute):
		return errors.New("it still runs")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("exit code %d", code)
	}
	return nil
}

func (p *process) url() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.address == "" {
		return ""
	}
	return "http://" + p.address
}
