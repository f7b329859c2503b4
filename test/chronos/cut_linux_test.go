package chronos_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/test/proof"
)

const (
	lease = 3 * time.Second
	keys  = "chronos"
)

// schedules are the jobs. The windows of the shortest interval overlap.
func schedules() (plans []plan) {
	for i, every := range []time.Duration{time.Second, 2 * time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second} {
		plans = append(plans, plan{job: fmt.Sprint("job", i), every: every, epsilon: 1500 * time.Millisecond, lasts: every / 4})
	}
	return plans
}

// Five nodes on five hosts keep their schedules while the network between them and their store is cut and healed at random.
// CRONCE_CHAOS is how long it lasts on each store.
func TestPartitions(t *testing.T) {
	text := os.Getenv("CRONCE_CHAOS")
	if text == "" {
		t.Skip("takes a minute for each store: CRONCE_CHAOS=30s, or make chaos")
	}
	lasts, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("CRONCE_CHAOS: %v", err)
	}
	path, err := proof.Build(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	var all []outcome
	t.Run("Sentinel", func(t *testing.T) { all = append(all, partitions(t, path, 5, onSentinels, lasts)) })
	t.Run("PostgreSQL", func(t *testing.T) { all = append(all, partitions(t, path, 6, onPostgres, lasts)) })
	for _, o := range all {
		t.Log(o)
	}
}

func partitions(t *testing.T, path string, hosts int, start func(*testing.T, *network) store, lasts time.Duration) outcome {
	n := newNetwork(t, hosts)
	s := start(t, n)
	c := &cluster{t: t, path: path, dir: t.TempDir(), store: s, plans: schedules()}
	if strings.HasPrefix(s.url, "postgres") {
		if out, err := n.hosts[0].command(path, "migrate", "--store", s.url); err != nil {
			t.Fatalf("migrate: %v\n%s", err, out)
		}
	}
	for _, h := range n.hosts[:5] {
		c.start(h)
	}
	rig.Eventually(t, "each job runs", func() bool {
		seen := map[string]bool{}
		for _, r := range c.runs() {
			seen[r.job] = true
		}
		return len(seen) == len(c.plans)
	})
	begun := time.Now()
	for i, p := range c.plans {
		c.plans[i].start = begun.Truncate(p.every).Add(p.every)
		c.plans[i].count = int((lasts + time.Hour) / p.every)
	}
	x := &nemesis{network: n, store: s}
	for time.Since(begun) < lasts {
		<-time.After(between(5, 10))
		x.disturb(t)
	}
	<-time.After(x.recovery() + 5*time.Second)
	closed := time.Now()
	for _, node := range c.nodes {
		node.Stop()
	}
	if out, err := n.hosts[0].command(path, "verify", "--store", s.url, "--namespace", keys); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	v := judge(c.plans, c.runs(), x.faults(), closed)
	for _, text := range v.violations {
		t.Error(text)
	}
	o := outcome{store: s.name, lasted: closed.Sub(begun), verdict: v, cuts: x.cuts}
	o.back = x.back(c.plans, c.runs())
	if t.Failed() {
		for i, node := range c.nodes {
			_ = os.WriteFile(fmt.Sprintf("/tmp/chronos-%s-%d.log", strings.Fields(s.name)[0], i+1), []byte(node.Log()), 0o644)
		}
	}
	t.Log(o)
	return o
}

func between(least, most int) time.Duration {
	return time.Duration(least)*time.Second + rand.N(time.Duration(most-least)*time.Second)
}

// A cluster is the nodes and the files in which their jobs write.
type cluster struct {
	t     *testing.T
	path  string
	dir   string
	store store
	plans []plan
	nodes []*serverprocess.Server
}

// start starts the node of a host.
func (c *cluster) start(h *host) {
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

// record is the command of a job. Its lines are short enough to be written at once.
const record = `note() { echo "$CRONCE_JOB $CRONCE_TICK $CRONCE_ATTEMPT $CRONCE_FENCE $1 $(date +%%s%%N)" >>%s; }; note begin; sleep %v; note end`

func (c *cluster) configuration(h *host) []byte {
	type object = map[string]any
	var jobs []object
	for _, p := range c.plans {
		j := object{"name": p.job, "kind": "exec", "spec": "@every " + p.every.String(), "lease": lease.String(), "takeover": "rerun",
			"exec": object{"shell": fmt.Sprintf(record, h.name+".runs", p.lasts.Seconds()), "dir": c.dir}}
		if c.store.replicas > 0 {
			j["replicas"] = c.store.replicas
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

// runs reads what the jobs wrote.
func (c *cluster) runs() (all []run) {
	files, _ := filepath.Glob(filepath.Join(c.dir, "*.runs"))
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			c.t.Fatal(err)
		}
		at := map[string]int{}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			words := strings.Fields(lines.Text())
			var r run
			var kind, tick string
			var ns int64
			if _, err := fmt.Sscan(lines.Text(), &r.job, &tick, &r.attempt, &r.fence, &kind, &ns); err != nil {
				c.t.Fatalf("%s: %q: %v", path, lines.Text(), err)
			}
			if r.tick, err = time.Parse(time.RFC3339, tick); err != nil {
				c.t.Fatal(err)
			}
			key := strings.Join(words[:4], " ")
			if kind == "end" {
				all[at[key]].end = time.Unix(0, ns)
				continue
			}
			at[key] = len(all)
			r.node, r.begin = strings.TrimSuffix(filepath.Base(path), ".runs"), time.Unix(0, ns)
			all = append(all, r)
		}
		_ = f.Close()
	}
	return all
}

// A nemesis cuts the network.
type nemesis struct {
	*network
	store store
	cuts  []cut
}

type cut struct {
	kind string
	span
}

// The kinds of cuts, in turns.
const (
	halves = "halves"
	one    = "one host"
	master = "the master's host"
)

// disturb cuts the network for a while.
func (x *nemesis) disturb(t *testing.T) {
	kinds := []string{halves, one, master}
	c := cut{kind: kinds[(len(x.cuts)+2)%len(kinds)]}
	hosts := slices.Clone(x.hosts)
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	away := hosts[:1]
	switch c.kind {
	case halves:
		away = hosts[:len(hosts)/2]
	case master:
		away = []*host{x.store.master()}
	}
	c.from = time.Now()
	x.cut(away...)
	<-time.After(between(5, 10))
	x.heal()
	c.to = time.Now()
	x.cuts = append(x.cuts, c)
	var names []string
	for _, h := range away {
		names = append(names, h.name)
	}
	t.Logf("%s: %s away from %s to %s", c.kind, strings.Join(names, " "), stamp(c.from), stamp(c.to))
}

// recovery is how long schedules may take to be back.
func (x *nemesis) recovery() time.Duration { return lease + time.Second + x.store.failover }

func (x *nemesis) faults() (all []span) {
	for _, c := range x.cuts {
		all = append(all, span{c.from, c.to.Add(x.recovery())})
	}
	return all
}

// back returns how long after each heal all jobs had begun again.
func (x *nemesis) back(plans []plan, runs []run) (all []time.Duration) {
	for _, c := range x.cuts {
		var slowest time.Duration
		for _, p := range plans {
			first := time.Hour
			for _, r := range runs {
				if r.job == p.job && !r.begin.Before(c.to) {
					first = min(first, r.begin.Sub(c.to))
				}
			}
			slowest = max(slowest, first)
		}
		all = append(all, slowest)
	}
	slices.Sort(all)
	return all
}

// An outcome is a row of the table.
type outcome struct {
	store  string
	lasted time.Duration
	cuts   []cut
	back   []time.Duration
	*verdict
}

func (o outcome) String() string {
	return fmt.Sprintf("%s | %v | %d cuts | %d targets, %d satisfied, %d excused | %d runs | late %d | takeovers %d | twice %d | back %v", o.store, o.lasted.Round(time.Second),
		len(o.cuts), o.targets, o.satisfied, o.excused, o.runs, o.late, o.takeovers, o.twice, o.back)
}
