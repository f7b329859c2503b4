package chronos_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/test/proof"
)

const (
	lease = 3 * time.Second
	page  = "../../docs/chaos.md"
)

// schedules are the jobs. Windows of the shortest interval overlap, and a run of the longest lasts longer than its lease.
func schedules() (plans []plan) {
	const s = time.Second
	for i, p := range []plan{{every: s, lasts: s / 4}, {every: 2 * s, lasts: s}, {every: 2 * s, lasts: s / 2}, {every: 3 * s, lasts: s}, {every: 6 * s, lasts: 4 * s}} {
		p.job, p.epsilon = fmt.Sprint("job", i), 2*s
		plans = append(plans, p)
	}
	return plans
}

// Five nodes on five hosts keep their schedules while the network between them and their store is cut and healed at random.
// CRONCE_CHAOS is how long it lasts on each store. The test then writes the page about it.
func TestPartitions(t *testing.T) {
	text := os.Getenv("CRONCE_CHAOS")
	if text == "" {
		t.Skip("takes minutes: CRONCE_CHAOS=30s, or make chaos")
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
	t.Run("Sentinel", func(t *testing.T) { all = append(all, partitions(t, newNetwork(t, 5), path, onSentinels, lasts)) })
	t.Run("PostgreSQL", func(t *testing.T) { all = append(all, partitions(t, newNetwork(t, 6), path, onPostgres, lasts)) })
	if len(all) < 2 {
		t.Skip("the page is not written: it would not have each store")
	}
	if err := proof.WriteTable(page, "partitions", table(all)); err != nil {
		t.Fatal(err)
	}
}

func partitions(t *testing.T, n *network, path string, start func(*testing.T, *network) store, lasts time.Duration) outcome {
	s := start(t, n)
	c := newCluster(t, path, s, schedules())
	for _, h := range n.hosts[:5] {
		c.start(h)
	}
	begun := c.warm()
	x := &nemesis{network: n, store: s}
	for back := takeover; time.Since(begun) < lasts; {
		<-time.After(back + between(2, 6))
		back = x.disturb(t)
	}
	<-time.After(takeover + failover + 2*c.slowest())
	closed := c.stop()
	if out, err := n.hosts[0].command(path, "verify", "--store", s.url, "--namespace", keys); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	runs := c.runs()
	o := outcome{store: s.name, lasted: closed.Sub(begun), cuts: x.cuts, back: x.back(c.plans, runs), verdict: judge(c.plans, runs, x.shaken(), closed)}
	for _, text := range o.violations {
		t.Error(text)
	}
	t.Log(o)
	return o
}

// An outcome is a row of the table.
type outcome struct {
	store  string
	lasted time.Duration
	cuts   []cut
	back   []time.Duration // after each heal, sorted
	*verdict
}

func (o outcome) String() string {
	kinds := map[string]int{}
	for _, c := range o.cuts {
		kinds[c.kind]++
	}
	calm := o.targets - o.shaken
	return fmt.Sprintf("| %s | %v | %d, %d, %d | %d | %d | %d, %d | %d | %d | %d | %.1f s, %.1f s |", o.store, o.lasted.Round(time.Second),
		kinds[halves], kinds[one], kinds[master], calm, o.targets-o.satisfied-o.excused, o.shaken, o.shaken-o.excused, o.late, o.twice, o.takeovers,
		o.back[len(o.back)/2].Seconds(), slices.Max(o.back).Seconds())
}

func table(all []outcome) string {
	var b strings.Builder
	b.WriteString("| Store | Lasted | Cuts: halves, one host, the master's host | Targets | Not in time | Targets within recovery, in time | Late | Twice | Takeovers | Back after a heal: median, slowest |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, o := range all {
		fmt.Fprintln(&b, o)
	}
	return b.String()
}
