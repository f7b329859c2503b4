package chronos_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/serverprocess"
)

const keys = "chronos" // the namespace in the store

// A cluster is the nodes, and the files in which their jobs write. All are on this machine, and have one clock.
type cluster struct {
	t     *testing.T
	path  string // of the binary
	dir   string
	store store
	plans []plan
	nodes []*serverprocess.Server
}

func newCluster(t *testing.T, path string, s store, plans []plan) *cluster {
	c := &cluster{t: t, path: path, dir: t.TempDir(), store: s, plans: plans}
	t.Cleanup(c.dump)
	return c
}

// dump writes the warnings of the nodes to the log of a failed test.
func (c *cluster) dump() {
	if !c.t.Failed() {
		return
	}
	for i, node := range c.nodes {
		for line := range strings.Lines(node.Log()) {
			if !strings.Contains(line, `"level":"info"`) {
				c.t.Logf("h%d: %s", i+1, line)
			}
		}
	}
}

// start starts the node of a host.
func (c *cluster) start(h *host) {
	c.t.Helper()
	if c.store.migrated {
		if out, err := h.command(c.path, "migrate", "--store", c.store.url); err != nil {
			c.t.Fatalf("migrate: %v\n%s", err, out)
		}
	}
	file := filepath.Join(c.dir, h.name+".yaml")
	if err := os.WriteFile(file, c.configuration(h), 0o600); err != nil {
		c.t.Fatal(err)
	}
	h.inside(func() {
		c.nodes = append(c.nodes, serverprocess.Start(c.t, c.dir, serverprocess.Program{
			Name: "cronce node", Patience: time.Minute,
			Command: func(int) *exec.Cmd { return exec.Command(c.path, "node", "--config", file) },
			Answers: func(s *serverprocess.Server) bool { return strings.Contains(s.Log(), `"node started"`) },
		}))
	})
}

// stop ends the plans, and drains the nodes.
func (c *cluster) stop() (closed time.Time) {
	closed = time.Now()
	for i := range c.plans {
		p := &c.plans[i]
		p.count = int(closed.Sub(p.start)/p.every) + 1
	}
	for _, node := range c.nodes {
		node.Stop()
	}
	return closed
}

// record is the command of a job. It writes each line at once.
const record = `note() { echo "$CRONCE_JOB $CRONCE_TICK $CRONCE_ATTEMPT $CRONCE_FENCE $1 $(date +%%s%%N)" >>%s.runs; }; note begin; sleep %v; note end`

// configuration returns the node's config.yaml, as JSON, which is also YAML.
func (c *cluster) configuration(h *host) []byte {
	type object = map[string]any
	var jobs []object
	for _, p := range c.plans {
		j := object{"name": p.job, "kind": "exec", "spec": "@every " + p.every.String(), "lease": lease.String(), "takeover": "rerun",
			"exec": object{"shell": fmt.Sprintf(record, h.name, p.lasts.Seconds()), "dir": c.dir}}
		if c.store.replicas > 0 {
			j["replicas"] = c.store.replicas
		}
		if p.lasts > lease {
			j["overlap"] = "allow" // a takeover would otherwise be in the way of the next tick, as it should
		}
		jobs = append(jobs, j)
	}
	text, err := json.Marshal(object{"name": h.name, "namespace": keys, "store": c.store.url, "plaintext": "allow", "jobs": jobs,
		"http": object{"address": "off"}, "log": object{"format": "json"}})
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// warm waits until each job has run, and begins the plans at the targets after that.
func (c *cluster) warm() (begun time.Time) {
	c.t.Helper()
	rig.Eventually(c.t, "each job runs", func() bool {
		seen := map[string]bool{}
		for _, r := range c.runs() {
			seen[r.job] = true
		}
		return len(seen) == len(c.plans)
	})
	begun = time.Now()
	for i := range c.plans {
		p := &c.plans[i]
		p.start = begun.Truncate(p.every).Add(p.every)
	}
	return begun
}

// slowest returns the longest interval.
func (c *cluster) slowest() (most time.Duration) {
	for _, p := range c.plans {
		most = max(most, p.every)
	}
	return most
}

// runs reads the attempts that the jobs have written.
func (c *cluster) runs() (all []run) {
	c.t.Helper()
	files, _ := filepath.Glob(filepath.Join(c.dir, "*.runs"))
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			c.t.Fatal(err)
		}
		begun := map[string]int{}
		for line := range strings.Lines(string(text)) {
			var r run
			var tick, kind string
			var ns int64
			_, err := fmt.Sscan(line, &r.job, &tick, &r.attempt, &r.fence, &kind, &ns)
			if err == nil {
				r.tick, err = time.Parse(time.RFC3339, tick)
			}
			if err != nil {
				c.t.Fatalf("%s: %q: %v", path, line, err)
			}
			attempt, _, _ := strings.Cut(line, " "+kind+" ")
			if kind == "end" {
				all[begun[attempt]].end = time.Unix(0, ns)
				continue
			}
			begun[attempt] = len(all)
			r.node, r.begin = strings.TrimSuffix(filepath.Base(path), ".runs"), time.Unix(0, ns)
			all = append(all, r)
		}
	}
	return all
}
