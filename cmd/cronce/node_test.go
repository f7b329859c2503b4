//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/internal/redisserver"
)

const everySecond = "jobs: [{kind: sleep, name: a, spec: '@every 1s'}]\n"

// Three processes share the ticks of one second: none runs twice. SIGTERM ends
// each with exit code 0.
func TestNodesShareTicks(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	nodes := []*child{
		startNode(t, url, everySecond, "--name", "one"),
		startNode(t, url, everySecond, "--name", "two"),
		startNode(t, url, everySecond, "--name", "three"),
	}
	started := func() map[string]int {
		runs := map[string]int{}
		for _, n := range nodes {
			for _, l := range n.logs("run started") {
				runs[l.Text("tick")]++
			}
		}
		return runs
	}
	eventually(t, "four ticks ran", func() bool { return len(started()) >= 4 })
	for _, n := range nodes {
		n.signal(syscall.SIGTERM)
	}
	for _, n := range nodes {
		if code := n.code(); code != exit.Fine || len(n.logs("node draining")) != 1 || len(n.logs("node stopped")) != 1 {
			t.Errorf("exit code %d", code)
		}
	}
	for tick, n := range started() {
		if n != 1 {
			t.Errorf("tick %s was started %d times", tick, n)
		}
	}
	cronce(t, "verify", "--redis", url).want(t, exit.Fine, "each has one verdict")
}

// A node whose clock is wrong logs a warning, and runs no tick again or early. The store has the clock of the machine, as each
// log has; late_ms is by a node's estimate of that clock, which on a busy machine is some milliseconds behind it.
func TestClockOffset(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	right := startNode(t, url, everySecond, "--name", "right")
	wrong := startNode(t, url, everySecond, "--name", "wrong", "--clock-offset", "30s")
	both := func() []terminal.LogLine { return append(right.logs("run started"), wrong.logs("run started")...) }
	eventually(t, "five ticks ran, and a warning", func() bool {
		return len(both()) >= 5 && len(wrong.logs("clock offset")) > 0
	})
	seen := map[string]bool{}
	for _, l := range both() {
		tick := l.Text("tick")
		if due, err := time.Parse(time.RFC3339, tick); err != nil || seen[tick] || l.At.Before(due) {
			t.Errorf("tick %s ran again, or early, at %v: %v", tick, l.At, err)
		}
		seen[tick] = true
	}
	if len(right.logs("clock offset")) != 0 {
		t.Error("the node with the right clock warns too")
	}
	eventually(t, "the list of nodes has the offset", func() bool {
		list := cronce(t, "status", "nodes", "--redis", url).stdout
		return regexp.MustCompile(`alive +wrong-\w+ +\d+ +(29|30|31) s ahead `).MatchString(list) && regexp.MustCompile(`alive +right-\w+ +\d+ +\d+ ms`).MatchString(list)
	})
	cronce(t, "doctor", "--redis", url).want(t, exit.Fine, "the clock of wrong-")
}

const longRun = "scheduler: {grace: 30s}\njobs: [{kind: sleep, name: a, spec: '@every 1s', sleep: {for: 60s}}]\n"

// The first signal waits for runs, the second does not.
func TestSecondSignalEnds(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	n := startNode(t, url, longRun)
	eventually(t, "a run", func() bool { return len(n.logs("run started")) == 1 })
	n.signal(syscall.SIGINT)
	eventually(t, "a drain that waits", func() bool { return len(n.logs("drain waits")) == 1 })
	n.signal(syscall.SIGTERM)
	if code := n.code(); code != -1 {
		t.Errorf("exit code %d, want the end by a signal", code)
	}
}

// When its terminal closes, a node drains as after SIGTERM.
func TestHangUpDrains(t *testing.T) {
	heeded := make(chan os.Signal, 1) // under nohup this process ignores it, and so would the node
	signal.Notify(heeded, syscall.SIGHUP)
	defer signal.Stop(heeded)
	_, url := newRedis(t)
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminal:", err)
	}
	defer terminal.Close()
	name := file(t, "c.yaml", "jobs: [{kind: sleep, name: a, spec: '@yearly'}]\n")
	n := startOn(t, terminal, "node", "--redis", url, "--http", "off", "--config", name)
	eventually(t, "the start", func() bool { return len(n.logs("node started")) == 1 })
	swap(t, name, "jobs: [{kind: sleep, name: a, spec: '@every 1s', sleep: {for: 1s}}]\n") // the change is still found
	eventually(t, "a run", func() bool { return len(n.logs("run started")) >= 1 })
	n.signal(syscall.SIGHUP)
	if code := n.code(); code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
	if len(n.logs("node stopped")) != 1 || len(n.logs("run started")) != len(n.logs("run finished")) {
		t.Error("the node has not drained")
	}
}

// A run that does not end within the graces is interrupted, and the node still ends, also if a signal comes twice, as timeout sends it.
func TestDrainInterrupts(t *testing.T) {
	t.Parallel()
	for name, signals := range map[string][]syscall.Signal{
		"one signal":             {syscall.SIGTERM},
		"two that come together": {syscall.SIGSTOP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCONT},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newRedis(t)
			n := startNode(t, url, strings.Replace(longRun, "30s", "200ms", 1))
			eventually(t, "a run", func() bool { return len(n.logs("run started")) == 1 })
			for _, s := range signals {
				n.signal(s)
			}
			if code := n.code(); code != exit.Fine {
				t.Errorf("exit code %d", code)
			}
			if l := n.logs("run finished"); len(l) != 1 || l[0].Text("outcome") != "interrupted" {
				t.Errorf("run finished: %v", l)
			}
		})
	}
}

// The process is alive before its Redis answers, and reports that it is not ready. Once the Redis
// answers it is ready.
func TestHealthOfNode(t *testing.T) {
	t.Parallel()
	m, url := newRedis(t)
	m.SetError("LOADING Redis is loading the dataset in memory")
	n := startNode(t, url, everySecond, "--http", "127.0.0.1:0")
	eventually(t, "health is served", func() bool { return len(n.logs("health served")) == 1 })
	address := "http://" + n.logs("health served")[0].Text("address")
	eventually(t, "the node logs it", func() bool { return len(n.logs("store unreachable")) == 1 })
	if code, _ := get(t, address+"/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d", code)
	}
	if code, text := get(t, address+"/readyz"); code != http.StatusServiceUnavailable || text == "" {
		t.Errorf("/readyz: %d %s", code, text)
	}
	m.SetError("")
	eventually(t, "ready", func() bool {
		code, _ := get(t, address+"/readyz")
		return code == http.StatusOK
	})
	if code, _ := get(t, address+"/"); code != http.StatusNotFound {
		t.Errorf("/: %d", code)
	}
	n.signal(syscall.SIGTERM)
	n.code()
}

// A node with a job of every second has the runs in its metrics, and all other metrics.
func TestMetricsOfNode(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	n := startNode(t, url, everySecond, "--http", "127.0.0.1:0")
	eventually(t, "health is served", func() bool { return len(n.logs("health served")) == 1 })
	address := "http://" + n.logs("health served")[0].Text("address")
	var text string
	runs := regexp.MustCompile(`\ncronce_runs_total\{outcome="ok"\} ([2-9]|\d{2,})\n`) // more than two if the machine is slower than the job
	eventually(t, "two runs are counted", func() bool {
		_, text = get(t, address+"/metrics")
		return runs.MatchString(text)
	})
	if !strings.Contains(text, "\ncronce_node_ready 1\n") {
		t.Error("the node runs jobs, and its metrics say that it is not ready")
	}
	for _, name := range ruleFiles(t)["node"] {
		if !strings.Contains(text, "\n"+name) {
			t.Errorf("%s was not measured", name)
		}
	}
	n.signal(syscall.SIGTERM)
	n.code()
}

// get returns the status and the body of a page, for a caller with a token if one is given.
func get(t *testing.T, url string, token ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(token) > 0 {
		request.Header.Set("Authorization", "Bearer "+token[0])
	}
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(text)
}

// A Redis that may evict marks is refused, unless the file allows it.
func TestEvictingStore(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	url := "redis://" + s.Addr()
	n := startNode(t, url, everySecond)
	if code := n.code(); code != exit.Refused || !strings.Contains(n.stderr.String(), "set maxmemory-policy to noeviction") {
		t.Errorf("exit code %d", code)
	}
	cronce(t, "doctor", "--redis", url).want(t, exit.Failed, "refuse", "allkeys-lru", "set maxmemory-policy to noeviction")
	cronce(t, under(url, nil, "echo ran")...).want(t, exit.Refused, "set maxmemory-policy to noeviction")
	n = startNode(t, url, "redis: {allow_eviction: true}\n"+everySecond)
	eventually(t, "a run", func() bool { return len(n.logs("run started")) > 0 })
}

// A node whose settings would place the jobs of its namespace elsewhere than the other nodes'
// settings do, so that they would run twice, is refused.
func TestNodesThatDiffer(t *testing.T) {
	t.Parallel()
	url := "redis://" + redisserver.Start(t).Addr()
	n := startNode(t, url, everySecond)
	eventually(t, "a run", func() bool { return len(n.logs("run started")) > 0 })
	for _, option := range []string{"partitions: 2", "group_by: /"} {
		other := startNode(t, url, "redis: {"+option+"}\n"+everySecond)
		if code := other.code(); code != exit.Refused || !strings.Contains(other.stderr.String(), "same options") || strings.Contains(other.stderr.String(), "run started") {
			t.Errorf("%s: exit code %d: %s", option, code, other.stderr.String())
		}
	}
}

// A password is required, comes from the environment, and is shown nowhere.
func TestPassword(t *testing.T) {
	s := redisserver.Start(t, "--requirepass", "hunter2")
	url := "redis://" + s.Addr()
	if r := cronce(t, "doctor", "--redis", url); r.code != exit.Refused {
		r.want(t, exit.Refused)
	}
	t.Setenv(config.PasswordEnv, "hunter2")
	cronce(t, "doctor", "--redis", url).want(t, exit.Fine)
	n := startNode(t, url, everySecond, "--log-level", "debug")
	eventually(t, "a run", func() bool { return len(n.logs("run started")) > 0 })
	n.signal(syscall.SIGTERM)
	n.code()
	t.Setenv(config.PasswordEnv, "hunter3")
	r := cronce(t, "verify", "--redis", url)
	r.want(t, exit.Refused)
	if shown := n.stderr.String() + n.stdout.String() + r.stderr; strings.Contains(shown, "hunter") {
		t.Errorf("a password is shown:\n%s", shown)
	}
}
