//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// ran counts the runs of a job that ended on some nodes.
func ran(nodes []*child, job string) (n int) {
	for _, c := range nodes {
		for _, l := range c.logs("run finished") {
			if l.Text("job") == job {
				n++
			}
		}
	}
	return n
}

// swap replaces a file by another one in one step, so that a node does not read an incomplete file.
func swap(t *testing.T, name, text string) {
	t.Helper()
	write(t, name+".new", text)
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// Jobs are added, changed and removed on three nodes: two get SIGHUP, one finds the change itself.
// A file with a fault changes nothing, and the fault is logged with its place.
func TestReload(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	name := file(t, "c.yaml", "jobs:\n  - {kind: sleep, name: stays, spec: '@every 1s'}\n  - {kind: sleep, name: goes, spec: '@every 1s'}\n  - {kind: sleep, name: other, spec: '@yearly'}\n")
	var nodes []*child
	for range 3 {
		nodes = append(nodes, start(t, "node", "--config", name, "--redis", url, "--http", "127.0.0.1:0"))
	}
	stale := func(c *child) string {
		_, body := get(t, "http://"+c.logs("health served")[0].Text("address")+"/metrics")
		_, value, _ := strings.Cut(body, "\ncronce_config_stale ")
		value, _, _ = strings.Cut(value, "\n")
		return value
	}
	logged := func(message string) int {
		n := 0
		for _, c := range nodes {
			if len(c.logs(message)) > 0 {
				n++
			}
		}
		return n
	}
	eventually(t, "runs", func() bool { return ran(nodes, "stays") >= 2 && ran(nodes, "goes") >= 1 })

	swap(t, name, "jobs:\n  - {kind: sleep, name: stays, spec: '@evry 1s'}\n  - {kind: slep, name: new, spec: '@every 1s'}\n  - {kind: sleep, name: other, spec: '@yearly'}\n  - {kind: sleep, name: other, spec: '@daily'}\n")
	nodes[0].signal(syscall.SIGHUP)
	nodes[1].signal(syscall.SIGHUP)
	eventually(t, "faults", func() bool { return logged("configuration not reloaded") == 3 })
	for _, c := range nodes {
		fault := c.logs("configuration not reloaded")[0].Text("err")
		if !strings.Contains(fault, name+`:2:32: jobs[0].spec: spec "@evry 1s"`) || !strings.Contains(fault, name+`:3:6: jobs[1].kind: is "slep"`) ||
			!strings.Contains(fault, name+`:5:19: jobs[3].name: "other" is taken by another job, at `+name+":4") {
			t.Errorf("the log has %s", fault)
		}
		if got := stale(c); got != "1" {
			t.Errorf("cronce_config_stale is %s with faults", got)
		}
	}
	stays, goes := ran(nodes, "stays"), ran(nodes, "goes")
	eventually(t, "runs of what was there", func() bool { return ran(nodes, "stays") >= stays+2 && ran(nodes, "goes") >= goes+2 })

	swap(t, name, "namespace: elsewhere\njobs:\n  - {kind: sleep, name: stays, spec: '@every 1s'}\n  - {kind: exec, name: new, spec: '* * * * * *', exec: {shell: 'true'}}\n  - {kind: sleep, name: other, spec: '@every 1s'}\n")
	nodes[0].signal(syscall.SIGHUP)
	nodes[1].signal(syscall.SIGHUP)
	eventually(t, "a reload", func() bool { return logged("configuration reloaded") == 3 })
	for _, c := range nodes {
		l := c.logs("configuration reloaded")[0]
		if got := l.Text("added") + l.Text("changed") + l.Text("removed"); got != "111" {
			t.Errorf("added, changed, removed: %s", got)
		}
		if got := stale(c); got != "0" {
			t.Errorf("cronce_config_stale is %s without faults", got)
		}
		if w := c.logs("configuration needs a restart"); len(w) == 0 || w[0].Text("settings") != "namespace" {
			t.Errorf("warned of %v", w)
		}
	}
	eventually(t, "runs of what is new", func() bool {
		return ran(nodes, "new") >= 2 && ran(nodes, "other") >= 2 && ran(nodes, "stays") >= stays+5
	})
	for _, c := range nodes {
		reloaded := c.logs("configuration reloaded")[0].At
		for _, l := range c.logs("run started") {
			if at, err := time.Parse(time.RFC3339, l.Text("tick")); err != nil || l.Text("job") == "goes" && at.After(reloaded) {
				t.Errorf("a job that was removed at %v ran at %v, %v", reloaded, at, err)
			}
		}
	}
	for _, c := range nodes {
		c.signal(syscall.SIGTERM)
		if code := c.code(); code != exit.Fine {
			t.Errorf("exit code %d", code)
		}
	}
	cronce(t, "verify", "--redis", url, "--job", "stays").want(t, exit.Fine, "each has one verdict")
}

// A file that is added to a directory, or swapped with a link as Kubernetes does it, is noticed;
// and the variables of a command are read again.
func TestReloadOfSeveralFiles(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	name := files(t, "include: [jobs.d/*.yaml]\n", map[string]string{"env": "GREETING=one\n",
		"v1.yaml": "jobs: [{kind: sleep, name: a, spec: '@every 1s'}]\n", "v2.yaml": "jobs: [{kind: sleep, name: b, spec: '@every 1s'}]\n"})
	dir := strings.TrimSuffix(name, "c.yaml")
	link := func(to string) {
		if err := os.Symlink(dir+to, dir+"next"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+"next", dir+"jobs.d/a.yaml"); err != nil {
			t.Fatal(err)
		}
	}
	link("v1.yaml")
	n := []*child{start(t, "node", "--config", name, "--redis", url, "--http", "off")}
	eventually(t, "a", func() bool { return ran(n, "a") >= 1 })
	link("v2.yaml")
	eventually(t, "b", func() bool { return ran(n, "b") >= 1 })
	swap(t, dir+"jobs.d/c.yaml", fmt.Sprintf("jobs: [{kind: exec, name: c, spec: '@every 1s', exec: {shell: 'echo $GREETING', env_file: %senv, log: true}}]\n", dir))
	said := func(word string) bool {
		for _, l := range n[0].logs("output") {
			if l.Text("line") == word {
				return true
			}
		}
		return false
	}
	eventually(t, "c", func() bool { return said("one") })
	swap(t, dir+"env", "GREETING=two\n")
	n[0].signal(syscall.SIGHUP)
	eventually(t, "the other word", func() bool { return said("two") })
}
