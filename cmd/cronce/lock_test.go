package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/cronce/cronce/cmd/cronce/internal/lockcommand"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock"
)

// under returns the command line of a shell script under a lock.
func under(url string, flags []string, script string) []string {
	args := append([]string{"lock", "key", "--redis", url}, flags...)
	return append(args, "--", "sh", "-c", script)
}

// free fails the test unless no lock is held and no process waits.
func free(t *testing.T, m *miniredis.Miniredis) {
	t.Helper()
	for _, key := range m.Keys() {
		if text, _ := m.Get(key); text == "" || strings.Trim(text, "0123456789") != "" { // a number is the last fence of a free lock
			t.Errorf("left behind: %q", key)
		}
	}
}

// The command runs with its streams and its fence, cronce exits with its code, and the lock is free
// afterwards.
func TestLock(t *testing.T) {
	m, url := newRedis(t)
	r := cronceWith(t, "hello", under(url, nil, `cat; test "$CRONCE_FENCE" -gt 1000000 && echo fenced; echo oops >&2; exit 7`)...)
	r.want(t, 7)
	if r.stdout != "hellofenced\n" || r.stderr != "oops\n" {
		t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
	}
	cronce(t, under(url, []string{"--try"}, "exit 0")...).want(t, exit.Fine)
	cronce(t, under(url, nil, "kill -9 $$")...).want(t, 128+9)
	free(t, m)
}

// A command under a lock does not get the variables from which cronce reads its secrets, unless
// requested; the rest of the environment is unchanged.
func TestLockKeepsItsSecrets(t *testing.T) {
	m, url := newRedis(t)
	m.RequireAuth("hunter2")
	for name, value := range map[string]string{
		"CRONCE_REDIS_URL": "redis://:hunter2@" + m.Addr(), "CRONCE_REDIS_PASSWORD": "hunter2", "CRONCE_SHOP_DSN": "postgres://u:hunter2@h/d",
		"CRONCE_SENTINEL_PASSWORD": "hunter2", "CRONCE_GATEWAY_TOKEN": "hunter2", "CRONCE_OTHER_URL": "redis://:hunter2@h",
		"SENTINELS": "hunter2", "ORDERS": "hunter2", "CRONCE_NAMESPACE": "ns", "PLAIN": "kept",
		"CRONCE_REDIS_PWD": "hunter2", "CRONCE_APIKEY": "hunter2", "CRONCE_sms_key": "hunter2",
	} {
		t.Setenv(name, value)
	}
	config := file(t, "c.yaml", "redis: {sentinel_password_env: SENTINELS, password_env: ORDERS}\n")
	r := cronce(t, under(url, []string{"--config", config}, "env")...)
	r.want(t, exit.Fine, "PLAIN=kept", "CRONCE_NAMESPACE=ns", "CRONCE_FENCE=")
	if strings.Contains(r.stdout, "hunter2") {
		t.Errorf("the command is given secrets:\n%s", r.stdout)
	}
	t.Setenv("CRONCE_REDIS_URL", url) // without a password it is no secret
	cronce(t, under(url, nil, "env")...).want(t, exit.Fine, "CRONCE_REDIS_URL="+url)
	r = cronce(t, under(url, []string{"--config", config, "--with-secrets"}, "env")...)
	if r.want(t, exit.Fine); strings.Count(r.stdout, "hunter2") != 10 {
		t.Errorf("with --with-secrets:\n%s", r.stdout)
	}
}

// hold takes the lock for another holder.
func hold(t *testing.T, url string) *lock.Lease { return holdWith(t, url, lock.Options{}) }

func holdWith(t *testing.T, url string, o lock.Options) *lock.Lease {
	t.Helper()
	s := storeAt(t, url, func(*config.Config) {})
	lease, err := lock.New(s.Driver, "").TryAcquire(t.Context(), "key", o)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// If another owner holds a lock, --try fails at once and --wait after its time, and neither runs
// the command; otherwise it runs when the lock is released.
func TestLockHeld(t *testing.T) {
	t.Parallel()
	m, url := newRedis(t)
	lease := hold(t, url)
	for _, c := range []struct {
		flags []string
		code  int
	}{
		{[]string{"--try"}, exit.Refused},
		{[]string{"--wait", "4s"}, exit.Refused},
		{[]string{"-n", "-E", "75"}, 75},
		{[]string{"-w", "4s", "--conflict-exit-code", "0"}, 0},
	} {
		r := cronce(t, under(url, c.flags, "echo ran")...)
		r.want(t, c.code, "held by another owner")
		if r.stdout != "" {
			t.Errorf("%q: the command ran", c.flags)
		}
	}
	done := make(chan result, 1)
	go func() { done <- cronce(t, under(url, []string{"--wait", "20s"}, "echo ran")...) }()
	eventually(t, "a process waits", func() bool { return len(m.Keys()) == 2 })
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	(<-done).want(t, exit.Fine, "ran")
	free(t, m)
}

// A store that refuses the user ends the wait for a lock, at the start and later: no repeat helps. The
// command does not run.
func TestLockRefused(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"waits": nil, "tries": {"--try"}, "waits a while": {"--wait", "1m"}, "asks for a tick": {"--once-per", "1h"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, url := newRedis(t)
			m.RequireAuth("hunter2")
			began := time.Now()
			r := cronce(t, under(url, flags, "echo ran")...)
			r.want(t, exit.Refused, "the server asks for a password, and none is configured")
			if took := time.Since(began); took > 20*time.Second || strings.Contains(r.stderr, "still waiting") || r.stdout != "" {
				t.Errorf("after %v: %s%s", took, r.stdout, r.stderr)
			}
		})
	}
	t.Run("while it waits", func(t *testing.T) {
		t.Parallel()
		m, url := newRedis(t)
		hold(t, url)
		done := make(chan result, 1)
		go func() { done <- cronce(t, under(url, nil, "echo ran")...) }()
		eventually(t, "a process waits", func() bool { return len(m.Keys()) == 2 })
		m.RequireAuth("hunter2")
		r := <-done
		r.want(t, exit.Refused, "the server asks for a password, and none is configured")
		if r.stdout != "" {
			t.Error("the command ran")
		}
	})
}

// The command gets SIGTERM when the lock is lost, and is killed if it ignores that.
func TestLockLost(t *testing.T) {
	for name, script := range map[string]string{
		"heeds":   `touch "$FILE"; exec sleep 60`,
		"ignores": `trap "" TERM; touch "$FILE"; while :; do :; done`,
	} {
		t.Run(name, func(t *testing.T) {
			m, url := newRedis(t)
			file := filepath.Join(t.TempDir(), "started")
			t.Setenv("FILE", file)
			done := make(chan result, 1)
			go func() { done <- cronce(t, under(url, []string{"--ttl", "500ms", "--grace", "100ms"}, script)...) }()
			eventually(t, "the command runs", func() bool { _, err := os.Stat(file); return err == nil })
			m.FlushAll()
			select {
			case r := <-done:
				r.want(t, exit.Failed, `lock "key" was lost`)
			case <-time.After(2 * time.Minute):
				t.Fatal("the command was not stopped")
			}
		})
	}
}

// On SIGTERM cronce stops the command and frees the lock.
func TestLockStopped(t *testing.T) {
	m, url := newRedis(t)
	file := filepath.Join(t.TempDir(), "started")
	t.Setenv("FILE", file)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int, 1)
	var out, errs strings.Builder
	go func() {
		done <- run(ctx, under(url, nil, `trap "exit 5" TERM; touch "$FILE"; while :; do :; done`), strings.NewReader(""), &out, &errs)
	}()
	eventually(t, "the command runs", func() bool { _, err := os.Stat(file); return err == nil })
	stop()
	if code := <-done; code != 5 {
		t.Errorf("the exit code is %d, want 5: %s", code, errs.String())
	}
	free(t, m)
}

// After SIGTERM during the wait, the exit code is not the one for a wait that took too long.
func TestLockStoppedWaiting(t *testing.T) {
	m, url := newRedis(t)
	lease := hold(t, url)
	for _, flags := range [][]string{{"-E", "75"}, {"-w", "1m", "-E", "0"}} {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan int, 1)
		var out, errs strings.Builder
		go func() { done <- run(ctx, under(url, flags, "echo ran"), strings.NewReader(""), &out, &errs) }()
		eventually(t, "a process waits", func() bool { return len(m.Keys()) == 2 })
		stop()
		if code := <-done; code != exit.Failed || out.Len() > 0 {
			t.Errorf("%q: the exit code is %d, want %d: %s", flags, code, exit.Failed, errs.String())
		}
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	free(t, m)
}

// A signal while the store has not answered yet: if the store then answers, no lock is held, and no tick has run; otherwise the error names
// the store, in place of a context.
func TestLockStoppedBeforeAnswer(t *testing.T) {
	_, store := newRedis(t)
	type result struct {
		code int
		text string
	}
	down := result{exit.NotKnown, "connection refused"}
	for url, wants := range map[string][2]result{
		store:                 {{exit.Failed, "stopped before it was acquired"}, {exit.Failed, "stopped before the command was started"}},
		"redis://127.0.0.1:1": {down, down},
	} {
		for i, flags := range [][]string{nil, {"--tick", "@hourly"}} {
			ctx, stop := context.WithCancel(t.Context())
			stop()
			var out, errs strings.Builder
			code := run(ctx, under(url, flags, "echo ran"), strings.NewReader(""), &out, &errs)
			if want := wants[i]; code != want.code || out.Len() > 0 || !strings.Contains(errs.String(), want.text) {
				t.Errorf("%s %q: the exit code is %d, want %d: %s", url, flags, code, want.code, errs.String())
			}
		}
	}
}

// A wait continues while the store does not answer, and reports this.
func TestLockInDoubt(t *testing.T) {
	t.Parallel()
	r := cronce(t, under("redis://127.0.0.1:1", []string{"--wait", "5s"}, "echo ran")...)
	r.want(t, exit.NotKnown, "still waiting")
	if n := strings.Count(r.stderr, "still waiting"); n != 1 || r.stdout != "" {
		t.Errorf("reported %d times, stdout %q", n, r.stdout)
	}
}

// However cronce is ended, its command ends with it, and nothing continues without the lock. The
// output of a process ends when no process has it any more.
func TestLockEnds(t *testing.T) {
	heeded := make(chan os.Signal, 1) // a process inherits an ignored signal, as under nohup
	signal.Notify(heeded, syscall.SIGHUP)
	defer signal.Stop(heeded)
	for name, end := range map[string]struct {
		by   syscall.Signal
		code int
		free bool
	}{
		"stopped":          {by: syscall.SIGTERM, code: 5, free: true},
		"hung up":          {by: syscall.SIGHUP, code: 5, free: true},
		"quit by terminal": {by: syscall.SIGQUIT, code: 5, free: true},
		"killed":           {by: syscall.SIGKILL, code: -1},
	} {
		t.Run(name, func(t *testing.T) {
			if end.by == syscall.SIGKILL && runtime.GOOS != "linux" {
				t.Skipf("%s has no signal for the children of a process that is killed, as Linux has", runtime.GOOS)
			}
			m, url := newRedis(t)
			c := start(t, under(url, nil, `trap "exit 5" TERM; echo runs; for i in $(seq 300); do sleep 0.1; done`)...)
			eventually(t, "the command runs", func() bool { return strings.Contains(c.stdout.String(), "runs") })
			c.signal(end.by)
			if code := c.code(); code != end.code {
				t.Errorf("the exit code is %d, want %d", code, end.code)
			}
			if end.free {
				free(t, m)
			}
		})
	}
}

// With the second signal cronce kills a command that is slow to end, before its grace has passed, and frees the lock.
func TestLockStoppedTwice(t *testing.T) {
	m, url := newRedis(t)
	killTwice(t, start(t, under(url, []string{"--grace", "1h"}, stubborn)...))
	free(t, m)
}

// stubborn is a script that does not end with SIGTERM.
const stubborn = `trap "echo gets it" TERM; echo runs; while :; do sleep 0.01; done`

// Signals at once are one request to stop, such as the two of timeout: the command has its grace.
func TestLockStoppedOnce(t *testing.T) {
	m, url := newRedis(t)
	c := start(t, under(url, []string{"--grace", "1h"}, `trap "sleep 0.3; echo cleaned; exit 7" TERM; echo runs; while :; do sleep 0.01; done`)...)
	eventually(t, "runs", func() bool { return strings.Contains(c.stdout.String(), "runs") })
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGCONT} { // it gets all when it continues, however busy the machine is
		c.signal(s)
	}
	if code := c.code(); code != 7 || !strings.Contains(c.stdout.String(), "cleaned") {
		t.Errorf("the exit code is %d, the output %q", code, c.stdout.String())
	}
	free(t, m)
}

// killTwice sends two signals to a cronce that runs the stubborn script.
func killTwice(t *testing.T, c *child) {
	t.Helper()
	prints := func(text string) {
		eventually(t, text, func() bool { return strings.Contains(c.stdout.String(), text) })
	}
	prints("runs")
	c.signal(syscall.SIGTERM)
	prints("gets it")       // on a busy machine cronce gets a signal late
	time.Sleep(time.Second) // signals that come together count as one, and cronce may stand still meanwhile
	c.signal(syscall.SIGTERM)
	if code := c.code(); code != 128+int(syscall.SIGKILL) {
		t.Errorf("the exit code is %d, want that of a killed command", code)
	}
}

// Under timeout, as in the help, all parts of a pipe end when cronce gets SIGTERM, including those
// that ignore it. The output of a process ends when no process has it any more.
func TestLockEndsPipe(t *testing.T) {
	t.Parallel()
	if version, err := exec.Command("timeout", "--version").Output(); err != nil || !strings.Contains(string(version), "GNU coreutils") {
		t.Skipf("GNU's timeout is not installed (Debian: apt-get install coreutils): %v", err)
	}
	for name, heed := range map[string]string{"heeds": "", "ignores": `trap "" TERM; `} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, url := newRedis(t)
			c := start(t, "lock", "key", "--redis", url, "--grace", "20s", "--", "timeout", "-k", "1", "0", "sh", "-c", heed+"(echo runs; sleep 300) | tee /dev/stderr")
			eventually(t, "the command runs", func() bool { return strings.Contains(c.stdout.String(), "runs") })
			c.signal(syscall.SIGTERM)
			if code := c.code(); code == exit.Fine {
				t.Errorf("the exit code is %d", code)
			}
			free(t, m)
		})
	}
}

// Commands that share a lock run at the same time, up to the number of permits, and not together
// with one that does not share.
func TestLockShared(t *testing.T) {
	m, url := newRedis(t)
	run := func(flags ...string) result { return cronce(t, under(url, append(flags, "--try"), "echo ran")...) }
	both := holdWith(t, url, lock.Options{Limit: lock.NoLimit})
	run("-s").want(t, exit.Fine, "ran")
	run("--shared").want(t, exit.Fine, "ran")
	run("--permits", "2").want(t, exit.Fine, "ran")
	run().want(t, exit.Refused, "held by another owner")
	run("--permits", "1").want(t, exit.Refused, "held by another owner")
	if err := both.Release(t.Context()); err != nil {
		t.Error(err)
	}
	run().want(t, exit.Fine, "ran")
	free(t, m)
}

// --show prints the holders of a lock, as a table or for machines.
func TestLockShow(t *testing.T) {
	m, url := newRedis(t)
	show := func(more ...string) result {
		return cronce(t, append([]string{"lock", "key", "--show", "--redis", url}, more...)...)
	}
	show().want(t, exit.Fine, `"key" is free`)
	one, two := holdWith(t, url, lock.Options{Limit: 3}), holdWith(t, url, lock.Options{Limit: lock.NoLimit})
	r := show()
	r.want(t, exit.Fine, "OWNER", "with up to 3", "shared", "0 waiting", strconv.FormatInt(one.Fence(), 10))
	var report lockcommand.Report
	if err := json.Unmarshal([]byte(show("-o", "json").stdout), &report); err != nil {
		t.Fatal(err)
	}
	if h := report.Holders; len(h) != 2 || h[0].Fence != one.Fence() || *h[0].Limit != 3 || h[1].Fence != two.Fence() || h[1].Limit != nil || h[1].LeftMs <= 0 {
		t.Errorf("the report is %+v", report)
	}
	for _, lease := range []*lock.Lease{one, two} {
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	alone := holdWith(t, url, lock.Options{Note: "alice: release 4.2"})
	show().want(t, exit.Fine, "alone", "NOTE", "alice: release 4.2")
	show("-o", "json").want(t, exit.Fine, `"note": "alice: release 4.2"`)
	if err := alone.Release(t.Context()); err != nil {
		t.Error(err)
	}
	free(t, m)
}

// A lock whose value cannot be read is not shown as free: an acquisition would be refused.
func TestLockShowUnreadable(t *testing.T) {
	m, url := newRedis(t)
	lease := hold(t, url)
	keys := m.Keys()
	if len(keys) != 1 {
		t.Fatalf("keys %q", keys)
	}
	for name, ttl := range map[string]time.Duration{"garbage": time.Minute, "garbage|owner": 0, "17|owner": 0} {
		if err := m.Set(keys[0], name); err != nil {
			t.Fatal(err)
		}
		if ttl > 0 { // otherwise it never expires, as no lock does
			m.SetTTL(keys[0], ttl)
		}
		if r := cronce(t, "lock", "key", "--show", "--redis", url); r.code != exit.NotKnown || strings.Contains(r.stdout, "free") {
			t.Errorf("%q: exit code %d, %s", name, r.code, r.stdout)
		}
	}
	_ = lease.Release(t.Context()) // it finds no lease of its own
}

func TestLockUsage(t *testing.T) {
	const url = "--redis=redis://127.0.0.1:1"
	for want, args := range map[string][]string{
		"one key, then --":      {"lock", "key", url},
		"one key":               {"lock", url, "--", "true"},
		"give one key, then":    {"lock", "key", "true", url},
		"--try does not wait":   {"lock", "key", "--try", "--wait", "1s", url, "--", "true"},
		"--wait is -1s":         {"lock", "key", "--wait", "-1s", url, "--", "true"},
		"-code is 256":          {"lock", "key", "-E", "256", url, "--", "true"},
		"--grace is 0s":         {"lock", "key", "--grace", "0s", url, "--", "true"},
		"TTL is 1ms":            {"lock", "key", "--ttl", "1ms", url, "--", "true"},
		"note is \"a\\x1b\"":    {"lock", "key", "--note", "a\x1b", url, "--", "true"},
		"key is \"\"":           {"lock", "", url, "--", "true"},
		"--permits is 0":        {"lock", "key", "--permits", "0", url, "--", "true"},
		"--shared has no bound": {"lock", "key", "--permits", "2", "-s", url, "--", "true"},
		"with --show give":      {"lock", "key", "--show", url, "--", "true"},
	} {
		cronce(t, args...).want(t, exit.WrongUsage, want)
	}
	for _, flag := range []string{"--try", "--wait=1s", "-E=0", "--shared", "--permits=2", "--ttl=9s", "--grace=1s", "--note=why"} {
		cronce(t, "lock", "key", "--show", flag, url).want(t, exit.WrongUsage, "with --show give")
	}
	cronce(t, "lock", "key", "--try", "-E", "75", "--ttl", "500ms", url, "--", "true").want(t, exit.NotKnown, "127.0.0.1:1")
}
