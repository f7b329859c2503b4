package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// A server that takes no writes at maxmemory is warned of above 90 %, and refused from maxmemory on if the options say so. Memory
// that the server does not count against the bound is left out. There is no finding of a server that evicts keys, has no bound, or
// does not report its memory.
func TestCheckMemory(t *testing.T) {
	const fits, takesNone = "client=ok connection=ok eviction=ok memory=ok persistence=ok role=ok version=ok", ": the server takes no writes"
	warned, refused := strings.Replace(fits, "memory=ok", "memory=warn", 1), strings.Replace(fits, "memory=ok", "memory=refuse", 1)
	none := strings.Replace(fits, " memory=ok", "", 1)
	addr := redisserver.Start(t, "--appendonly", "yes").Addr()
	for _, c := range []struct {
		info             string // fields that the server reports
		waiting, refuses string // the findings, and those with RefuseFull
		text             string // of the finding about the memory
	}{
		{"used_memory:900 maxmemory:1000", fits, fits, "900 of maxmemory 1000 bytes are used"},
		{"used_memory:901 maxmemory:1000", warned, warned, "901 of maxmemory 1000 bytes are used: at maxmemory the server takes no writes"},
		{"used_memory:999 maxmemory:1000", warned, warned, "999 of maxmemory 1000 bytes are used: at maxmemory the server takes no writes"},
		{"used_memory:1000 maxmemory:1000", warned, refused, "1000 of maxmemory 1000 bytes are used" + takesNone},
		{"used_memory:1500 mem_not_counted_for_evict:700 maxmemory:1000", fits, fits, "800 of maxmemory 1000 bytes are used"},
		{"used_memory:1500 maxmemory:0", none, none, ""},
		{"maxmemory:1000", none, none, ""},
	} {
		for want, o := range map[*string]redislock.CheckOptions{&c.waiting: {}, &c.refuses: {RefuseFull: true}} {
			client := client(t, addr)
			client.AddHook(reports(c.info))
			found, err := redislock.Check(t.Context(), client, o)
			says := ""
			if strings.Contains(*want, "refuse") {
				says = "memory: " + c.text + ": raise maxmemory"
			}
			checked(t, found, err, *want, says)
			for _, f := range found {
				if f.Topic == redislock.TopicMemory && f.Text != c.text {
					t.Errorf("%s: %q, want %q", c.info, f.Text, c.text)
				}
			}
		}
	}
}

// reports is a hook that makes a server report other fields of its memory.
type reports string

func (reports) DialHook(next redis.DialHook) redis.DialHook { return next }
func (reports) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r reports) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if text, ok := cmd.(*redis.StringCmd); ok && cmd.Name() == "info" {
			var lines strings.Builder
			for line := range strings.Lines(text.Val()) {
				if name, _, _ := strings.Cut(line, ":"); !strings.Contains("used_memory mem_not_counted_for_evict maxmemory", name) {
					lines.WriteString(line)
				}
			}
			text.SetVal(lines.String() + strings.ReplaceAll(string(r), " ", "\r\n") + "\r\n")
		}
		return err
	}
}

// A real server at maxmemory is refused by a diagnosis, also as a user without CONFIG. For a node it is doubt: it waits until the
// server takes its record, and then starts, at a risk while the memory is nearly used.
func TestCheckFullServer(t *testing.T) {
	admin := client(t, redisserver.Start(t).Addr())
	bound := func(bytes int) {
		t.Helper()
		must(t, admin.ConfigSet(t.Context(), "maxmemory", fmt.Sprint(bytes)).Err())
	}
	bound(500_000)
	c := restricted(t, admin, "cronce")
	found, err := redislock.Check(t.Context(), c, redislock.CheckOptions{RefuseFull: true})
	checked(t, found, err, "client=ok connection=ok eviction=ok memory=refuse persistence=warn role=ok version=ok", "the server takes no writes: raise maxmemory")
	d := newDriver(t, c, redislock.Options{})
	if risks, err := d.CheckStore(t.Context()); err == nil || errors.Is(err, driver.ErrUnfit) || d.Explain(err) != "the server is at maxmemory and takes no writes" {
		t.Errorf("a node starts with %+v, %v, want doubt", risks, err)
	}
	bound(1 << 30)
	risks, err := d.CheckStore(t.Context())
	if must(t, err); topics(risks) != "persistence" {
		t.Errorf("the risks are %+v", risks)
	}
}
