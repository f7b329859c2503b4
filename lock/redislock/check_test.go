package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// levels writes findings as topic=level, sorted.
func levels(fs []redislock.Finding) string {
	var words []string
	for _, f := range fs {
		words = append(words, f.Topic+"="+f.Level.String())
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestCheckServers(t *testing.T) {
	const fine = "client=ok connection=ok eviction=ok persistence=ok role=ok version=ok"
	for name, c := range map[string]struct {
		args    []string
		options redislock.CheckOptions
		want    string
		refused string
	}{
		"fit":              {args: []string{"--appendonly", "yes"}, options: redislock.CheckOptions{Strict: true}, want: fine},
		"keeps nothing":    {want: strings.Replace(fine, "persistence=ok", "persistence=warn", 1)},
		"keeps snapshots":  {args: []string{"--save", "60 1"}, want: strings.Replace(fine, "persistence=ok", "persistence=warn", 1)},
		"evicts":           {args: []string{"--appendonly", "yes", "--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru"}, want: strings.Replace(fine, "eviction=ok", "eviction=refuse", 1), refused: "noeviction"},
		"evicts volatile":  {args: []string{"--appendonly", "yes", "--maxmemory", "50mb", "--maxmemory-policy", "volatile-ttl"}, want: strings.Replace(fine, "eviction=ok", "eviction=refuse", 1), refused: "noeviction"},
		"may evict":        {args: []string{"--appendonly", "yes", "--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru"}, options: redislock.CheckOptions{AllowEviction: true}, want: strings.Replace(fine, "eviction=ok", "eviction=warn", 1)},
		"would evict":      {args: []string{"--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"}, want: strings.Replace(fine, "eviction=ok", "eviction=warn", 1)},
		"a lonely cluster": {args: []string{"--appendonly", "yes", "--cluster-enabled", "yes"}, want: strings.Replace(fine, "role=ok", "role=refuse", 1), refused: "Cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := redislock.Check(t.Context(), client(t, redisserver.Start(t, c.args...).Addr()), c.options)
			checked(t, found, err, c.want, c.refused)
		})
	}
}

// checked compares findings and the error with the wanted ones; "" is no error.
func checked(t *testing.T, found []redislock.Finding, err error, want, refused string) {
	t.Helper()
	if got := levels(found); got != want {
		t.Errorf("found %s\nwant  %s\n%+v", got, want, found)
	}
	for _, f := range found {
		if f.Text == "" || (f.Level != redislock.LevelOK) != (f.Fix != "") {
			t.Errorf("%+v: what is not ok has a fix, what is has none", f)
		}
	}
	e, is := errors.AsType[*redislock.RefusedError](err)
	switch {
	case refused == "" && err != nil:
		t.Errorf("refused: %v", err)
	case refused != "" && (!is || !strings.Contains(err.Error(), refused) || len(e.Findings) == 0):
		t.Errorf("the error is %v, want a refusal with %q", err, refused)
	}
}

// A replica is refused.
func TestCheckReplica(t *testing.T) {
	master, copied := redisserver.Start(t), redisserver.Start(t)
	c := client(t, copied.Addr())
	must(t, c.SlaveOf(t.Context(), "127.0.0.1", fmt.Sprint(master.Port())).Err())
	found, err := redislock.Check(t.Context(), c, redislock.CheckOptions{})
	checked(t, found, err, "client=ok connection=ok eviction=ok persistence=warn role=refuse version=ok", master.Addr())
}

// Servers that are too old for the scripts are refused.
func TestCheckVersions(t *testing.T) {
	addr := redisserver.Start(t, "--appendonly", "yes").Addr()
	for version, want := range map[string]redislock.Level{
		"5.0.14": redislock.LevelRefuse, "6.0.20": redislock.LevelRefuse, "6.2.0": redislock.LevelOK, "7.4.1": redislock.LevelOK, "10.0.0": redislock.LevelOK,
		"unstable": redislock.LevelWarn, "": redislock.LevelWarn,
	} {
		c := client(t, addr)
		c.AddHook(aged{version})
		found, err := redislock.Check(t.Context(), c, redislock.CheckOptions{})
		refused := ""
		if want == redislock.LevelRefuse {
			refused = "the server is Redis " + version + ": use Redis 6.2 or newer"
		}
		checked(t, found, err, "client=ok connection=ok eviction=ok persistence=ok role=ok version="+want.String(), refused)
	}
}

// aged is a hook that makes a server say that it is of another version.
type aged struct{ version string }

func (aged) DialHook(next redis.DialHook) redis.DialHook { return next }
func (aged) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a aged) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if text, ok := cmd.(*redis.StringCmd); ok && cmd.Name() == "info" {
			text.SetVal(regexp.MustCompile(`redis_version:\S*`).ReplaceAllString(text.Val(), "redis_version:"+a.version))
		}
		return err
	}
}

// A setting that the user may not read is a warning, and in strict mode a refusal.
func TestCheckRestricted(t *testing.T) {
	admin := client(t, redisserver.Start(t).Addr())
	c := restricted(t, admin, "cronce")
	const reported = "client=ok connection=ok eviction=ok persistence=warn role=ok version=ok"
	found, err := redislock.Check(t.Context(), c, redislock.CheckOptions{})
	checked(t, found, err, reported, "")
	found, err = redislock.Check(t.Context(), c, redislock.CheckOptions{Strict: true})
	checked(t, found, err, strings.Replace(reported, "=warn", "=refuse", 1), "does not report")

	c = restricted(t, admin, "cronce", "-info")
	const unreported = "client=ok connection=ok eviction=warn persistence=warn role=warn version=warn"
	found, err = redislock.Check(t.Context(), c, redislock.CheckOptions{})
	checked(t, found, err, unreported, "")
	found, err = redislock.Check(t.Context(), c, redislock.CheckOptions{Strict: true})
	checked(t, found, err, strings.NewReplacer("=warn", "=refuse").Replace(unreported), "does not report")
}

// A server in this process reports little: it can be used, and not strictly.
func TestCheckSimulated(t *testing.T) {
	c := client(t, simulated(t).Addr())
	found, err := redislock.Check(t.Context(), c, redislock.CheckOptions{})
	checked(t, found, err, "client=ok connection=ok eviction=warn persistence=warn role=warn version=warn", "")
}

// A server that is not there, or wants another password, is a finding too.
func TestCheckUnreachable(t *testing.T) {
	s := redisserver.Start(t, "--requirepass", "secret")
	wrong := client(t, s.Addr(), func(o *redis.UniversalOptions) { o.Password = "wrong" })
	found, err := redislock.Check(t.Context(), wrong, redislock.CheckOptions{})
	checked(t, found, err, "client=ok connection=refuse", "WRONGPASS")
	s.Stop()
	found, err = redislock.Check(t.Context(), client(t, s.Addr()), redislock.CheckOptions{})
	checked(t, found, err, "client=ok connection=refuse", "refused")
}

// Only the client's options are at fault here.
func TestCheckClients(t *testing.T) {
	addr := redisserver.Start(t, "--appendonly", "yes").Addr()
	for name, c := range map[string]struct {
		client  redis.UniversalClient
		faults  int
		refused string
	}{
		"the client's own defaults":     {redis.NewClient(&redis.Options{Addr: addr}), 2, "MaxRetries"},
		"no retries":                    {redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1}), 1, "ContextTimeoutEnabled"},
		"deadlines":                     {redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true}), 1, "MaxRetries"},
		"both":                          {redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true}), 0, ""},
		"a cluster's without deadlines": {redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}}), 2, "ContextTimeoutEnabled"}, // it is no cluster either
	} {
		t.Run(name, func(t *testing.T) {
			defer c.client.Close()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			_, err := redislock.Check(ctx, c.client, redislock.CheckOptions{})
			e, _ := errors.AsType[*redislock.RefusedError](err)
			if n := len(refused(e)); n != c.faults {
				t.Errorf("%d faults, want %d: %v", n, c.faults, err)
			}
			if c.faults > 0 && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("the error is %v, want one with %q", err, c.refused)
			}
		})
	}
}

func refused(e *redislock.RefusedError) []redislock.Finding {
	if e == nil {
		return nil
	}
	return e.Findings
}

// denied is how servers refuse a user: to itself, in a script of 6.2 and 7.0, and of 7.2.
var denied = regexp.MustCompile(`^NOPERM|can't access|^ERR ACL failure in script: No permissions`)

// The user with minimal rights has no others. The contract shows that the rights are enough.
func TestAccessRules(t *testing.T) {
	admin := client(t, redisserver.Start(t).Addr())
	c := restricted(t, admin, "cronce")
	must(t, admin.Set(t.Context(), "foreign", "1", 0).Err())
	for _, command := range []string{
		"FLUSHALL", "FLUSHDB", "CONFIG GET *", "KEYS *", "SCAN 0", "SCRIPT FLUSH", "SHUTDOWN", "REPLICAOF NO ONE",
		"ACL LIST", "CLIENT LIST", "MONITOR", "GET foreign", "SET foreign 2", "DEL foreign", "EVAL return(redis.call('GET','foreign')) 0",
		"GET cronce:v2:x", "PUBLISH a b",
	} {
		var args []any
		for word := range strings.FieldsSeq(command) {
			args = append(args, word)
		}
		if err := c.Do(t.Context(), args...).Err(); err == nil || !denied.MatchString(err.Error()) {
			t.Errorf("%s: the error is %v, want a refusal", command, err)
		}
	}
	d := newDriver(t, c, redislock.Options{})
	open(t, d, admin, "job")
	if _, _, err := redislock.Namespaces(t.Context(), c, 0); err == nil {
		t.Error("namespaces were listed")
	}
}

// Every command of the scripts is in the rules, and every rule in the documentation.
func TestAccessRulesAreComplete(t *testing.T) {
	rules, text := redislock.AccessRules("<ns>"), documentation(t)
	for _, rule := range rules {
		if !strings.Contains(text, rule) {
			t.Errorf("the documentation does not say %s", rule)
		}
	}
	files, err := filepath.Glob("lua/*.lua")
	must(t, err)
	for _, file := range files {
		src, err := os.ReadFile(file)
		must(t, err)
		for _, m := range regexp.MustCompile(`call\('([A-Z]+)'`).FindAllStringSubmatch(string(src), -1) {
			if !slices.Contains(rules, "+"+strings.ToLower(m[1])) {
				t.Errorf("%s asks %s, which the rules do not allow", file, m[1])
			}
		}
	}
}

func TestNamespaces(t *testing.T) {
	d, c := realDriver(t, redislock.Options{Namespace: "a"})
	other := newDriver(t, c, redislock.Options{Namespace: "b.2", Partitions: 3})
	open(t, d, c, "j1", "j2")
	open(t, other, c, "j1", "j2", "j3")
	acquire(t, d, "key", "n/1")
	must(t, c.Set(t.Context(), "bad name:v1:x", "1", 0).Err())
	found, more, err := redislock.Namespaces(t.Context(), c, 0)
	must(t, err)
	for i := range found {
		found[i].Keys = 0
	}
	want := []redislock.Namespace{{Name: "a", Series: 2, Locks: 1}, {Name: "b.2", Series: 3}}
	if !slices.Equal(found, want) || more {
		t.Errorf("found %+v, more %v, want %+v", found, more, want)
	}
}

func TestNewRefuses(t *testing.T) {
	c := client(t, "127.0.0.1:1")
	for argument, o := range map[string]redislock.Options{
		"Options.Namespace":    {Namespace: "a:b"},
		"Options.Partitions":   {Partitions: 1025},
		"Options.JournalLines": {JournalLines: -1},
		"Options.JournalBytes": {JournalBytes: -1},
	} {
		_, err := redislock.New(c, o)
		if e, ok := errors.AsType[*driver.ArgumentError](err); !ok || e.Argument != argument {
			t.Errorf("%+v: the error is %v, want one that names %s", o, err, argument)
		}
	}
}

// No client, also if an interface hides that there is none, and a client of another kind are refused by each function that takes one.
func TestRefusesTheClient(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	for _, c := range []struct {
		client redis.UniversalClient
		value  string
	}{{nil, "nil"}, {(*redis.Client)(nil), "nil"}, {(*redis.ClusterClient)(nil), "nil"}, {ring, "*redis.Ring"}} {
		_, made := redislock.New(c.client, redislock.Options{})
		_, checked := redislock.Check(t.Context(), c.client, redislock.CheckOptions{})
		_, _, listed := redislock.Namespaces(t.Context(), c.client, 1)
		for name, err := range map[string]error{"New": made, "Check": checked, "Namespaces": listed} {
			if e, ok := errors.AsType[*driver.ArgumentError](err); !ok || e.Argument != "client" || e.Value != c.value {
				t.Errorf("%s of %T: %v, want a refusal of the client %s", name, c.client, err, c.value)
			}
		}
	}
}
