//go:build unix

package main

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/demo"
	"github.com/cronce/cronce/cmd/cronce/internal/inspect"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/internal/redisserver"
)

// demoEvents parses the output of demo for machines.
func demoEvents(t *testing.T, stdout string) (lines []terminal.LogLine, pids []int, report demo.Report) {
	t.Helper()
	for text := range strings.Lines(stdout) {
		if !strings.HasSuffix(text, "\n") {
			continue
		}
		if strings.Contains(text, `"type":"report"`) {
			report.Proof = &inspect.Proof{}
			if err := json.Unmarshal([]byte(text), &report); err != nil {
				t.Fatal(err)
			}
			continue
		}
		l, err := terminal.ParseLogLine([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, l)
		if l.Message == "node launched" {
			pid, _ := strconv.Atoi(l.Text("pid"))
			pids = append(pids, pid)
		}
	}
	return lines, pids, report
}

// goneAll waits until all processes with these ids are gone.
func goneAll(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, "node "+strconv.Itoa(pid)+" is gone", func() bool {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			return err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ")
		})
	}
}

// Nodes that are killed and replaced start no attempt twice, send each message
// once, and leave nothing behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	c := startWith(t, []string{"CRONCE_REDIS_URL=redis://elsewhere:1", "CRONCE_LOG_LEVEL=error"},
		"demo", "--for", "10m", "--nodes", "2", "--kill-every", "3s", "-o", "json")
	eventually(t, "messages are sent, and two nodes replaced", func() bool {
		sent, launched := false, 0
		for line := range strings.Lines(c.stdout.String()) {
			sent = sent || strings.Contains(line, `"job":"sendSms"`) && strings.Contains(line, `"outcome":"ok"`)
			if strings.Contains(line, `"msg":"node launched"`) {
				launched++
			}
		}
		return sent && launched >= 4
	})
	c.signal(syscall.SIGINT)
	if code := c.code(); code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
	lines, pids, report := demoEvents(t, c.stdout.String())
	starts := 0
	for _, l := range lines {
		if l.Message == "run started" {
			starts++
		}
	}
	if report.Kills < 2 || len(pids) < 4 || !report.OK || report.Started < 3 || report.Started != starts || report.StartedTwice != 0 {
		t.Errorf("kills %d, nodes %d, report %+v, %d lines", report.Kills, len(pids), report, starts)
	}
	if report.Outbox.Sent == 0 || report.Accepted < 200 || report.Printed < report.Outbox.Sent || len(report.Proof.(*inspect.Proof).Jobs) != 4 {
		t.Errorf("report %+v", report)
	}
	goneAll(t, pids)
}

// A demo ends by itself, with a report.
func TestDemoEnds(t *testing.T) {
	t.Parallel()
	c := start(t, "demo", "--for", "1s", "--nodes", "1", "-o", "json")
	code := c.code()
	if _, _, report := demoEvents(t, c.stdout.String()); report.Proof == nil || report.OK != (code == exit.Fine) {
		t.Errorf("exit code %d, report %+v", code, report)
	}
}

// Ctrl-C drains the nodes and still verifies their work.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	c := start(t, "demo", "--for", "10m", "--nodes", "2")
	eventually(t, "two nodes and a run", func() bool {
		out := c.stdout.String()
		return strings.Count(out, "node started") == 2 && strings.Contains(out, "run started")
	})
	c.signal(syscall.SIGINT)
	if code := c.code(); code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"2 nodes on a Redis inside this process", "node-1  node started", "node stopped", "RAN ONCE", "none of them twice", "messages"} {
		if !strings.Contains(c.stdout.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(c.stdout.String(), "\x1b") {
		t.Error("colours, though the output is no terminal")
	}
}

// Variables about another Redis do not affect the built-in one.
func TestDemoEnvironment(t *testing.T) {
	t.Setenv(config.PasswordEnv, "of another Redis")
	t.Setenv("CRONCE_NAMESPACE", "of another Redis")
	has := func(environ []string, name string) bool {
		return slices.ContainsFunc(environ, func(variable string) bool { return strings.HasPrefix(variable, name+"=") })
	}
	if inside, real := config.NodeEnv(os.Environ(), true), config.NodeEnv(os.Environ(), false); has(inside, config.PasswordEnv) || !has(real, config.PasswordEnv) || has(real, "CRONCE_NAMESPACE") || !has(inside, "PATH") {
		t.Errorf("inside %v, real %v", inside, real)
	}
	for embedded, want := range map[bool]string{true: "", false: "of another Redis"} {
		c, err := demoConfig("redis://h", embedded)
		if err != nil {
			t.Fatal(err)
		}
		if o, err := config.RedisOptions(c); err != nil || o.Password != want {
			t.Errorf("inside %v: password %q, %v", embedded, o.Password, err)
		}
	}
}

// A node of a demo drains when its standard input ends, as it does when the demo is gone.
func TestLifeline(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	n := start(t, "node", "--demo", "--redis", url)
	eventually(t, "a run", func() bool { return len(n.logs("run started")) > 0 })
	if err := n.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if code := n.code(); code != exit.Fine || len(n.logs("node stopped")) != 1 {
		t.Errorf("exit code %d", code)
	}
}

// A demo that is killed takes its nodes with it; on Linux also those that cannot notice.
func TestDemoKilled(t *testing.T) {
	t.Parallel()
	c := start(t, "demo", "--for", "10m", "--nodes", "2", "-o", "json")
	eventually(t, "two nodes and a run", func() bool {
		out := c.stdout.String()
		return strings.Count(out, `"msg":"node launched"`) == 2 && strings.Contains(out, "run started")
	})
	_, pids, _ := demoEvents(t, c.stdout.String())
	if len(pids) != 2 {
		t.Fatalf("nodes: %v", pids)
	}
	for _, pid := range pids {
		if runtime.GOOS == "linux" {
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
		}
	}
	c.signal(syscall.SIGKILL)
	goneAll(t, pids)
}

// On a user's Redis the demo has a namespace of its own, and removes it.
func TestDemoOnRealRedis(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	client := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer client.Close()
	if err := client.Set(t.Context(), "cronce:v1:mine", "kept", 0).Err(); err != nil {
		t.Fatal(err)
	}
	c := start(t, "demo", "--for", "10m", "--nodes", "1", "--redis", "redis://"+s.Addr())
	eventually(t, "a run", func() bool { return strings.Contains(c.stdout.String(), "run started") })
	c.signal(syscall.SIGINT)
	if code := c.code(); code != exit.Fine || !strings.Contains(c.stdout.String(), "one verdict") ||
		!strings.Contains(c.stdout.String(), "the Redis redis://"+s.Addr()) {
		t.Errorf("exit code %d", code)
	}
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || strings.Join(keys, " ") != "cronce:v1:mine" {
		t.Errorf("left: %v, %v", keys, err)
	}
}

// Each job of the demo is introduced.
func TestDemoJobs(t *testing.T) {
	c, err := demoConfig("redis://h", true)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Jobs) != len(demo.Jobs) {
		t.Fatal(len(c.Jobs))
	}
	for i := range c.Jobs {
		if c.Jobs[i].Name != demo.Jobs[i][0] {
			t.Errorf("job %s is introduced as %s", c.Jobs[i].Name, demo.Jobs[i][0])
		}
	}
}
