package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
)

// A crontabLine is a line of a crontab that several machines have. Its command writes its tick into
// a file.
type crontabLine struct {
	t    *testing.T
	args []string
	file string
}

func newCrontabLine(t *testing.T, store string, flags ...string) *crontabLine {
	l := &crontabLine{t: t, file: filepath.Join(t.TempDir(), "ran")}
	l.args = append([]string{"lock", "backup", "--store", store}, flags...)
	l.args = append(l.args, "--", "sh", "-c", `test "$CRONCE_FENCE" -gt 1000000 && echo "$CRONCE_TICK" >> "$0"`, l.file)
	return l
}

// call runs the process that cron starts. It prints nothing, whether or not it gets the tick,
// unless the run of an earlier tick is alive.
func (l *crontabLine) call() {
	c := start(l.t, l.args...)
	<-c.gone
	printed := c.stdout.String() + c.stderr.String()
	if code := c.cmd.ProcessState.ExitCode(); code != exit.Fine || printed != "" && !strings.Contains(printed, "an earlier run is still alive") {
		l.t.Errorf("the exit code is %d, and cron mails %q", code, printed)
	}
}

// ran returns the ticks that ran.
func (l *crontabLine) ran() []string {
	text, err := os.ReadFile(l.file)
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.Fields(string(text))
}

func tickStores(t *testing.T) map[string]string {
	file := "sqlite:" + filepath.Join(t.TempDir(), "cronce.db")
	cronce(t, "migrate", "--store", file).want(t, exit.Fine)
	return map[string]string{"SQLite": file, "Redis": "redis://" + redisserver.Start(t).Addr()}
}

// Three machines whose clocks differ call one line for some ticks. Each tick runs once. With --try
// alone, the command would have run as often as a call found the lock free.
func TestLockTick(t *testing.T) {
	t.Parallel()
	for name, store := range tickStores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const every = 4 * time.Second
			l := newCrontabLine(t, store, "--once-per", every.String())
			first := time.Now().Truncate(every).Add(2 * every)
			var machines sync.WaitGroup
			for _, wrong := range []time.Duration{-1500 * time.Millisecond, 0, 1500 * time.Millisecond} {
				for n := range 3 {
					machines.Go(func() {
						time.Sleep(time.Until(first.Add(wrong + time.Duration(n)*every)))
						l.call()
					})
				}
			}
			machines.Wait()
			ran := l.ran()
			for _, text := range ran {
				tick, err := time.Parse(time.RFC3339, text)
				if err != nil || !tick.Equal(tick.Truncate(every)) {
					t.Errorf("a command had the tick %q", text)
				}
			}
			if slices.Sort(ran); len(slices.Compact(slices.Clone(ran))) != len(ran) {
				t.Errorf("ticks ran twice: %q", ran)
			}
			proof := cronce(t, "verify", "--store", store)
			proof.want(t, exit.Fine, "lock/backup", "one verdict")
		})
	}
}

// The latest tick runs on the one machine that calls first, however late. The commands that read
// the store show it, and report no problem although no node is alive.
func TestLockTickSeen(t *testing.T) {
	t.Parallel()
	for name, store := range tickStores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newCrontabLine(t, store, "--tick", "0 3 1 1 *", "--zone", "Asia/Shanghai")
			var machines sync.WaitGroup
			for range 3 {
				machines.Go(l.call)
			}
			machines.Wait()
			tick := time.Date(time.Now().UTC().Add(8*time.Hour).Year(), 1, 1, 3, 0, 0, 0, time.FixedZone("", 8*60*60))
			if tick.After(time.Now()) {
				tick = tick.AddDate(-1, 0, 0)
			}
			if ran, want := l.ran(), tick.UTC().Format("2006-01-02T15:04:05.000Z"); len(ran) != 1 || ran[0] != want {
				t.Errorf("ran %q, want %s", ran, want)
			}
			ask := func(code int, want string, args ...string) {
				t.Helper()
				cronce(t, append(args, "--store", store)...).want(t, code, want)
			}
			ask(exit.Fine, "ok", "runs", "lock/backup")
			ask(exit.Fine, "ok in", "why", "lock/backup", tick.UTC().Format(time.RFC3339))
			ask(exit.Fine, "The job is decided", "status")
			ask(exit.Fine, "Nothing is overdue", "status", "overdue")
			ask(exit.Fine, "one verdict", "verify")
			ask(exit.Fine, "", "retire", "lock/backup", "--reason", "cron is gone")
			l.call()
			if ran := l.ran(); len(ran) != 1 {
				t.Errorf("the tick ran again: %q", ran)
			}
		})
	}
}

// A call exits with the code of its command, and a command that fails is a run that has failed.
func TestLockTickFails(t *testing.T) {
	t.Parallel()
	for name, store := range tickStores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"lock", "backup", "--store", store, "--tick", "@yearly", "--", "sh", "-c", "echo out; echo err >&2; exit 7"}
			r := cronce(t, args...)
			if r.want(t, 7); r.stdout != "out\n" || r.stderr != "err\n" {
				t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
			}
			cronce(t, args...).want(t, exit.Fine)
			cronce(t, "why", "lock/backup", "last", "--store", store).want(t, exit.Fine, "ended as failed", "the command ended with 7")
		})
	}
}

// The command of a tick that is stopped twice is killed, and its run has failed: later ticks do not wait for it.
func TestLockTickStoppedTwice(t *testing.T) {
	t.Parallel()
	for name, store := range tickStores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, "lock", "backup", "--store", store, "--tick", "@yearly", "--grace", "1h", "--", "sh", "-c", stubborn)
			killTwice(t, c)
			cronce(t, "why", "lock/backup", "last", "--store", store).want(t, exit.Fine, "ended as failed", "the command ended with 137")
		})
	}
}

// Flags without a meaning for ticks are refused, and so is an invalid spec.
func TestLockTickUsage(t *testing.T) {
	t.Parallel()
	tick := []string{"--tick", "* * * * *"}
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{append(tick, "--try"), "--try does not go with --tick"},
		{append(tick, "--wait", "1s"), "--wait does not go with --tick"},
		{append(tick, "--shared"), "--shared does not go with --tick"},
		{append(tick, "--permits", "2"), "--permits does not go with --tick"},
		{append(tick, "--hold", "1s"), "--hold does not go with --tick"},
		{append(tick, "--once-per", "1m"), "give one of them"},
		{append(tick, "--zone", "Local"), "a name of the time zone database"},
		{append(tick, "--show"), "with --show give one key"},
		{append(tick, "--force-unlock", "--reason", "x"), "with --force-unlock give one key"},
		{[]string{"--tick", "*"}, "quote the spec"},
		{[]string{"--once-per", "100ms"}, "--once-per"},
		{[]string{"--once-per", "-1m"}, "--once-per"},
		{[]string{"--zone", "UTC"}, "--zone is for --tick"},
		{[]string{"--hold", "-1s"}, "--hold is -1s, must be 0 to 24h"},
		{[]string{"--hold", "25h"}, "--hold is 25h0m0s"},
	} {
		r := cronce(t, under("redis://127.0.0.1:1", c.flags, "echo ran")...)
		if r.want(t, exit.WrongUsage, c.want); r.stdout != "" {
			t.Errorf("%q: the command ran", c.flags)
		}
	}
}

// The lock is kept for the time of --hold, and then freed.
func TestLockHold(t *testing.T) {
	t.Parallel()
	m, url := newRedis(t)
	began := time.Now()
	cronce(t, under(url, []string{"--hold", "1500ms"}, "exit 7")...).want(t, 7)
	if took := time.Since(began); took < 1500*time.Millisecond {
		t.Errorf("the lock was held for %v", took)
	}
	free(t, m)
}
