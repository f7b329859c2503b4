package redislock_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// topics returns the topics of risks, sorted.
func topics(risks []driver.Risk) string {
	var words []string
	for _, r := range risks {
		words = append(words, r.Topic)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// A warning becomes a risk, with a fix; a refusal is ErrUnfit.
func TestFit(t *testing.T) {
	evicting := []string{"--appendonly", "yes", "--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru"}
	for name, c := range map[string]struct {
		args  []string
		check redislock.CheckOptions
		risks string
		unfit string
	}{
		"fit":           {args: []string{"--appendonly", "yes"}},
		"keeps nothing": {risks: "persistence"},
		"evicts":        {args: evicting, unfit: "set maxmemory-policy to noeviction"},
		"may evict":     {args: evicting, check: redislock.CheckOptions{AllowEviction: true}, risks: "eviction"},
	} {
		t.Run(name, func(t *testing.T) {
			s := redisserver.Start(t, c.args...)
			risks, err := newDriver(t, client(t, s.Addr()), redislock.Options{Check: c.check}).CheckStore(t.Context())
			if got := topics(risks); got != c.risks || slices.ContainsFunc(risks, func(r driver.Risk) bool { return r.Server != s.Addr() || r.Text == "" || r.Fix == "" }) {
				t.Errorf("risks %+v, want %q", risks, c.risks)
			}
			if errors.Is(err, driver.ErrUnfit) != (c.unfit != "") || err != nil && !strings.Contains(err.Error(), c.unfit) {
				t.Errorf("the error is %v, want %q", err, c.unfit)
			}
		})
	}
}

// For a user with only the documented rights, or without INFO, the store is fit at a risk; and so
// is a server in this process.
func TestFitUnreported(t *testing.T) {
	admin := client(t, redisserver.Start(t).Addr())
	const unreported = "eviction persistence role version"
	for want, c := range map[string]redis.UniversalClient{
		"persistence": restricted(t, admin, "cronce"),
		unreported:    client(t, simulated(t).Addr()),
	} {
		risks, err := newDriver(t, c, redislock.Options{}).CheckStore(t.Context())
		if err != nil || topics(risks) != want {
			t.Errorf("risks %s, %v, want %s", topics(risks), err, want)
		}
	}
	c := restricted(t, admin, "cronce", "-info")
	risks, err := newDriver(t, c, redislock.Options{}).CheckStore(t.Context())
	if err != nil || topics(risks) != unreported {
		t.Errorf("risks %s, %v, want %s", topics(risks), err, unreported)
	}
	_, err = newDriver(t, c, redislock.Options{Check: redislock.CheckOptions{Strict: true}}).CheckStore(t.Context())
	if !errors.Is(err, driver.ErrUnfit) {
		t.Errorf("strictly: %v", err)
	}
}

// A server that is away, or whose answer is lost on the way, refuses nothing: not
// even strictly. A client that is not fit is one without any server.
func TestFitDoubt(t *testing.T) {
	s := redisserver.Start(t)
	strict := redislock.Options{Check: redislock.CheckOptions{Strict: true}}
	for _, command := range []string{"info", "config", "evalsha"} {
		c := client(t, s.Addr())
		c.AddHook(broken{command})
		if _, err := newDriver(t, c, strict).CheckStore(t.Context()); err == nil || errors.Is(err, driver.ErrUnfit) {
			t.Errorf("without the answer to %s: %v", command, err)
		}
	}
	s.Stop()
	if _, err := newDriver(t, client(t, s.Addr()), strict).CheckStore(t.Context()); err == nil || errors.Is(err, driver.ErrUnfit) {
		t.Errorf("without a server: %v", err)
	}
	raw := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer raw.Close()
	_, err := newDriver(t, raw, redislock.Options{}).CheckStore(t.Context())
	if !errors.Is(err, driver.ErrUnfit) || !strings.Contains(err.Error(), "MaxRetries") || !strings.Contains(err.Error(), "ContextTimeoutEnabled") {
		t.Errorf("a client's own defaults: %v", err)
	}
}

// broken is a hook that loses the connection with each answer to a command.
type broken struct{ command string }

func (broken) DialHook(next redis.DialHook) redis.DialHook { return next }
func (broken) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b broken) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == b.command {
			cmd.SetErr(io.ErrUnexpectedEOF)
			return io.ErrUnexpectedEOF
		}
		return err
	}
}

// An error names all faults that a client can have, and counts the rest.
func TestRefusedErrorText(t *testing.T) {
	finding := func(fix string) redislock.Finding {
		return redislock.Finding{Level: redislock.LevelRefuse, Topic: "topic", Text: "text", Fix: fix}
	}
	e := &redislock.RefusedError{Findings: []redislock.Finding{finding("a"), finding("b"), finding("c"), finding("d"), finding("e")}}
	if got, want := e.Error(), "redislock: topic: text: a; topic: text: b; topic: text: c (and 2 more)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Namespace returns the namespace of the options, or the default.
func TestNamespace(t *testing.T) {
	c := client(t, "127.0.0.1:1")
	for want, o := range map[string]redislock.Options{"cronce": {}, "shop": {Namespace: "shop"}} {
		if got := newDriver(t, c, o).Namespace(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
