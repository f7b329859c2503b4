package proof_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/test/proof"
)

// TestMain is two programs: the tests, and the nodes that they start.
func TestMain(m *testing.M) {
	if text := os.Getenv(proof.MemberEnv); text != "" {
		os.Exit(member(text))
	}
	redis.SetLogger(quiet{})
	flag.Parse()
	// Scenarios wait most of the time: more of them than processors may run at once.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	var err error
	if built.dir, err = os.MkdirTemp("", "cronce-proof"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(built.dir) // in the system's folder for what may be left
	os.Exit(code)
}

// quiet keeps the client's messages about disturbances out of the output.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// built is the real binary, built once.
var built struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// both runs a scenario with the real binary, and with members, whose runs tell the
// witness.
func both(t *testing.T, scenario func(*testing.T, proof.Program)) {
	t.Helper()
	t.Run("cronce", func(t *testing.T) {
		t.Parallel()
		scenario(t, binary(t))
	})
	t.Run("member", func(t *testing.T) {
		t.Parallel()
		scenario(t, proof.Member)
	})
}

func binary(t *testing.T) proof.Program {
	t.Helper()
	built.once.Do(func() { built.path, built.err = proof.Build(built.dir, raced) })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return proof.Binary(built.path)
}

// startNodes starts nodes n0, n1 and so on that are alike.
func startNodes(c *proof.Cluster, count int, n proof.Node) {
	for i := range count {
		n.Name = fmt.Sprint("n", i)
		c.Start(n)
	}
}

func member(text string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := proof.RunMember(ctx, text, os.Stdout, die); err != nil {
		return 1 // its log has the reason
	}
	return 0
}

func die(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(3)
}

// running is how long a scenario runs at least.
func running() time.Duration {
	switch {
	case os.Getenv("CRONCE_SOAK") != "":
		return 2 * time.Minute
	case testing.Short():
		return 8 * time.Second
	}
	return 10 * time.Second
}

// acquit fails the test for each violation in the evidence.
func acquit(t *testing.T, e *proof.Evidence) {
	t.Helper()
	vs := proof.Check(e)
	for i, v := range vs {
		if i == 20 {
			t.Errorf("and %d more", len(vs)-i)
			break
		}
		t.Error(v)
	}
}
