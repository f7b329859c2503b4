package proof

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// An Outcome has the counts of one upheaval.
type Outcome struct {
	Store            string // and its version
	Lasted           time.Duration
	Faults           map[FaultKind]int // of nodes
	Deploys, Strikes int               // nodes replaced in order, and faults of the store
	Ticks, Runs      int               // Runs has further attempts, too
	Violations       map[Rule]int
	Takeovers        []time.Duration // from the kill of a node to the next attempt of its run, where the job asks for one
}

// Outcome counts the faults, runs and violations in the evidence.
func (c *Cluster) Outcome(e *Evidence) Outcome {
	o := Outcome{Store: c.program.backend.Name + " " + c.version, Faults: map[FaultKind]int{}, Violations: map[Rule]int{}}
	for _, f := range e.Faults {
		o.Faults[f.Kind]++
	}
	rerun := map[string]bool{}
	for i := range e.Jobs {
		j := &e.Jobs[i]
		o.Ticks += len(j.Ticks(e.From, e.To))
		rerun[j.Name] = j.Takeover == scheduler.TakeoverRerun
	}
	for _, r := range e.Records {
		if r.Kind == Start && r.Try == 1 && e.From.UnixMilli() <= r.Tick && r.Tick < e.To.UnixMilli() {
			o.Runs++
		}
	}
	for _, v := range Check(e) {
		o.Violations[v.Rule]++
	}
	for _, t := range Takeovers(e) {
		if rerun[t.Killed.Job] && t.Next.Attempt > 0 {
			o.Takeovers = append(o.Takeovers, t.Next.At.Sub(t.Fault.From))
		}
	}
	slices.Sort(o.Takeovers)
	return o
}

// WriteTable replaces the table of a page that is between the comments <!-- name --> and <!-- end of name -->.
func WriteTable(path, name, table string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, begins := strings.Cut(string(page), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("proof: %s has no table between %q and %q", path, begin, end)
	}
	return os.WriteFile(path, []byte(before+begin+table+end+after), 0o644)
}

// Table returns the table of outcomes.
func Table(all []Outcome) string {
	var b strings.Builder
	b.WriteString("| Store | Lasted | Nodes killed, stopped, replaced | Cut off, slowed, with a log that hangs | Faults of the store | Ticks | Runs | Twice | Silent | Other violations | Takeovers: count, median, slowest |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, o := range all {
		other := 0
		for rule, n := range o.Violations {
			if rule != Twice && rule != Silent {
				other += n
			}
		}
		fmt.Fprintf(&b, "| %s | %v | %d, %d, %d | %d, %d, %d | %d | %d | %d | %d | %d | %d | %s |\n", o.Store, o.Lasted.Round(time.Second),
			o.Faults[Killed], o.Faults[Paused], o.Deploys, o.Faults[CutOff], o.Faults[Slowed], o.Faults[LogHung], o.Strikes,
			o.Ticks, o.Runs, o.Violations[Twice], o.Violations[Silent], other, o.takeovers())
	}
	return b.String()
}

func (o *Outcome) takeovers() string {
	n := len(o.Takeovers)
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, %.1f s, %.1f s", n, o.Takeovers[n/2].Seconds(), o.Takeovers[n-1].Seconds())
}
