package redislock_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// A server that answers and cannot be used is unfit: one that lacks a command, which is named, or the database, and one of another
// kind than the client is for. The same answer to a later request is explained, and counts as a refusal.
func TestUnfitServers(t *testing.T) {
	t.Parallel()
	without := func(command string) string {
		return redisserver.Start(t, "--rename-command", command, "").Addr()
	}
	master := redisserver.Start(t)
	sentinel, lonely := redisserver.Sentinels(t, master, 0)[0], redisserver.Start(t, "--cluster-enabled", "yes")
	for name, test := range map[string]struct {
		addr              string
		change            func(*redis.UniversalOptions)
		topic, text, says string
	}{
		"no EVALSHA":     {without("EVALSHA"), nil, "commands", "the server does not know EVALSHA, disabled or renamed there", "does not know a command"},
		"no EVAL":        {without("EVAL"), nil, "commands", "the server does not know EVAL,", "does not know a command"},
		"no TIME":        {without("TIME"), nil, "commands", "the server does not know TIME,", "a command of a script"},
		"no INFO":        {withoutInfo(t), nil, "commands", "the server does not know INFO,", ""}, // it stops no request
		"no PUBLISH":     {without("PUBLISH"), nil, "commands", "the server does not know PUBLISH,", ""},
		"a Sentinel":     {sentinel.Addr(), nil, "role", "the server is a Sentinel, which keeps no data", "does not know a command"},
		"no Sentinel":    {master.Addr(), func(o *redis.UniversalOptions) { o.MasterName = redisserver.MasterName }, "role", "the servers that are given as Sentinels are none", "are none"},
		"another master": {sentinel.Addr(), func(o *redis.UniversalOptions) { o.MasterName = "another" }, "role", "no Sentinel knows a master of this name", "no Sentinel knows"},
		"no database":    {master.Addr(), func(o *redis.UniversalOptions) { o.DB = 99 }, "role", "the server has no database of the number that the client selects", "no database"},
		"a Cluster":      {lonely.Addr(), func(o *redis.UniversalOptions) { o.DB = 1 }, "role", "the server is part of a Cluster, which has no database but 0", "no database but 0"},
		"no Cluster":     {master.Addr(), func(o *redis.UniversalOptions) { o.IsClusterMode = true }, "role", "the server is a single one, the client is for a Cluster", "a single one"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.change == nil {
				test.change = func(*redis.UniversalOptions) {}
			}
			d := newDriver(t, client(t, test.addr, test.change), redislock.Options{Namespace: "ns"})
			_, err := d.CheckStore(t.Context())
			refused, _ := errors.AsType[*redislock.RefusedError](err)
			if refused == nil || !errors.Is(err, driver.ErrUnfit) {
				t.Fatalf("%v, want a refusal", err)
			}
			if f := refused.Findings[0]; len(refused.Findings) != 1 || f.Topic != test.topic || !strings.Contains(f.Text, test.text) || f.Fix == "" || f.Server == "" {
				t.Errorf("%+v, want %s: %s", refused.Findings, test.topic, test.text)
			}
			if test.says == "" {
				return
			}
			_, err = d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "a/1", TTL: time.Second})
			if got := d.Explain(err); err == nil || !strings.Contains(got, test.says) || !d.Refuses(err) || !redislock.Unfit(err) {
				t.Errorf("%v is explained as %q, want %q; refused %v", err, got, test.says, d.Refuses(err))
			}
		})
	}
}

// One Sentinel of two that does not know the master is doubt while the other one does not answer: that one may know it.
func TestUnfitSentinels(t *testing.T) {
	t.Parallel()
	master := redisserver.Start(t)
	sentinel := redisserver.Sentinels(t, master, 0)[0]
	o := func(o *redis.UniversalOptions) {
		o.Addrs, o.MasterName = append(o.Addrs, "127.0.0.1:"+freePort(t)), "another"
	}
	_, err := newDriver(t, client(t, sentinel.Addr(), o), redislock.Options{Namespace: "ns"}).CheckStore(t.Context())
	if err == nil || errors.Is(err, driver.ErrUnfit) {
		t.Errorf("%v, want doubt", err)
	}
}

// withoutInfo starts a server without INFO, which redisserver asks for, and returns its address.
func withoutInfo(t *testing.T) string {
	t.Helper()
	port := freePort(t)
	cmd := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--rename-command", "INFO", "")
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c := client(t, "127.0.0.1:"+port)
	until(t, "the server answers", func() bool { return c.Ping(t.Context()).Err() == nil })
	return "127.0.0.1:" + port
}
