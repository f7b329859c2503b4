package shards_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

const (
	job   = "rows"
	lease = 3 * time.Second
)

// settings configure one node, through the environment of its process.
type settings struct {
	Addr   string
	Dir    string // where it records its runs
	Every  time.Duration
	Work   time.Duration
	Shards int // 0: each node runs each tick once
}

const nodeEnv = "CRONCE_TEST_SHARDS"

// TestMain is two programs: the tests, and the nodes that they start.
func TestMain(m *testing.M) {
	if text := os.Getenv(nodeEnv); text != "" {
		if err := node(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A record is a line of a node about a shard. An end is written only while the lease can be trusted.
type record struct {
	Pid     int
	Tick    int64
	Shard   int
	Shards  int
	Param   string
	Attempt int
	Fence   int64
	End     bool
	At      time.Time
}

// node runs a node until its process is killed.
func node(text string) error {
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.Dir, fmt.Sprint(os.Getpid())), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	write := func(r *scheduler.Run, end bool, at time.Time) error {
		line, err := json.Marshal(record{os.Getpid(), r.Tick.UnixMilli(), r.Shard, r.Shards, r.Param, r.Attempt, r.Fence, end, at})
		if err == nil {
			_, err = f.Write(append(line, '\n')) // one write: whole, or not at all
		}
		return err
	}
	options := &redis.UniversalOptions{Addrs: []string{s.Addr}}
	redislock.Harden(options)
	store, err := redislock.New(redis.NewUniversalClient(options), redislock.Options{Namespace: "shards"})
	if err != nil {
		return err
	}
	params := make([]string, s.Shards)
	for i := range params {
		params[i] = fmt.Sprintf("%d of %d", i, s.Shards)
	}
	policies := scheduler.Job{Shards: s.Shards, ShardParams: params, Takeover: scheduler.TakeoverRerun, Attempts: 100, Overlap: scheduler.OverlapQueue, Deadline: time.Minute}
	if s.Shards == 0 {
		policies = scheduler.Job{Broadcast: true, Deadline: s.Every / 2}
	}
	policies.Name, policies.Spec, policies.Lease = job, "@every "+s.Every.String(), lease
	policies.Func = func(ctx context.Context, r *scheduler.Run) error {
		if err := write(r, false, time.Now()); err != nil {
			return err
		}
		select {
		case <-time.After(s.Work):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		at := time.Now() // before the check: the process may be stopped behind it
		if err := r.Check(); err != nil {
			return err
		}
		return write(r, true, at)
	}
	n, err := scheduler.New(scheduler.Config{Store: store, Logger: slog.New(slog.DiscardHandler), Jobs: []scheduler.Job{policies}})
	if err != nil {
		return err
	}
	return n.Run(context.Background())
}

// A process is a node.
type process struct {
	*exec.Cmd
	killed time.Time
}

func start(t *testing.T, s settings) *process {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: cmd}
	t.Cleanup(p.kill)
	return p
}

// kill kills the process and waits for its end.
func (p *process) kill() {
	if p.killed.IsZero() {
		_ = p.Process.Kill()
		_ = p.Wait()
		p.killed = time.Now()
	}
}

// records returns the lines of all nodes.
func records(t *testing.T, dir string) (all []record) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var r record
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatalf("%s: %q: %v", name, lines.Text(), err)
			}
			all = append(all, r)
		}
		f.Close()
	}
	return all
}
