package inspect

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/scheduler/verify"
)

// maxViolations is the most violations of a job that the table shows; JSON has all of them.
const maxViolations = 10

// printProof prints a row for each job, the violations, and one sentence.
func printProof(w io.Writer, p *Proof) error {
	if len(p.Jobs) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tDUE\tRAN ONCE\tFAILED\tRAN MORE\tSKIPPED\tMISSED\tLOST\tOVERDUE\tTAKEN OVER\tOTHER\tFENCES\tPROVEN SINCE")
	for i := range p.Jobs {
		printJob(table, &p.Jobs[i], p.Now)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	broken := 0
	for i := range p.Jobs {
		broken += len(p.Jobs[i].Violations)
		printViolations(w, &p.Jobs[i])
	}
	broken += len(p.Audit)
	for _, v := range p.Audit {
		fmt.Fprintf(w, "VIOLATION %s\n", terminal.Printable(v.String()))
	}
	printOverdue(w, p)
	for i, remark := range p.Remarks {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "note: %s\n", terminal.Printable(remark))
	}
	_, err := fmt.Fprintln(w, "\n"+sentence(p, broken))
	return err
}

// printOverdue prints the overdue ticks, with age and cause, and the data that could not be read.
func printOverdue(w io.Writer, p *Proof) {
	lines := make([]string, 0, len(p.Overdue))
	for i := range p.Overdue {
		lines = append(lines, p.Overdue[i].String())
	}
	for _, n := range p.Stalled {
		lines = append(lines, fmt.Sprintf("%s: %s %s", n.Job, strings.ToUpper(string(n.State)), n.Text))
	}
	for _, fault := range p.Faults {
		lines = append(lines, "NOT KNOWN "+fault)
	}
	for i := range p.Jobs {
		for _, fault := range p.Jobs[i].Faults {
			lines = append(lines, p.Jobs[i].Job+": NOT KNOWN "+fault)
		}
	}
	for i, text := range lines {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, terminal.Printable(text))
	}
}

func printJob(w io.Writer, r *verify.Report, now time.Time) {
	terminal.PrintRow(w, r.Job, r.Due, r.Once, r.Failed, r.Again,
		byReason(r.Skipped, reason{"superseded", r.Superseded}, reason{"paused", r.Paused}), byReason(r.Missed), r.Lost, r.Overdue, r.TakenOver,
		byReason(nil, reason{"running", r.Running}, reason{"waiting", r.Waiting}, reason{"passed over", r.PassedOver}, reason{"undecided", r.Undecided}, reason{"unknown", r.Unknown}, reason{"manual", total(r.Manual)}, reason{"shards rerun", r.RerunShards}),
		fences(r), terminal.ShortTime(r.Begins, now))
}

type reason struct {
	name string
	n    int
}

// byReason formats counts as "3 overlap, 1 paused".
func byReason(counts map[string]int, more ...reason) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	for _, r := range more {
		if r.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", r.n, r.name))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func fences(r *verify.Report) string {
	if n := r.Broken("I2"); n > 0 {
		return fmt.Sprintf("%d out of order", n)
	}
	if r.Begins.IsZero() { // no line could be read
		return "-"
	}
	return "in order"
}

func printViolations(w io.Writer, r *verify.Report) {
	for i, v := range r.Violations {
		if i == maxViolations {
			fmt.Fprintf(w, "%s: and %d more, -o json has them all\n", terminal.Printable(r.Job), len(r.Violations)-maxViolations)
			return
		}
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", terminal.Printable(r.Job), terminal.Printable(v.String()))
	}
}

// sentence returns the sentence that sums up the proof.
func sentence(p *Proof, broken int) string {
	t := &p.Total
	switch {
	case broken == 1:
		return "BROKEN: 1 violation."
	case broken > 1:
		return fmt.Sprintf("BROKEN: %d violations.", broken)
	case len(p.Overdue) == 1:
		return "OVERDUE: 1 job waits for its nodes."
	case len(p.Overdue) > 1:
		return fmt.Sprintf("OVERDUE: %d jobs or runs wait for their nodes.", len(p.Overdue))
	case !p.known():
		return "NOT KNOWN: a part of the store cannot be read. The rest holds."
	case !p.OK && t.Failed > 0:
		return fmt.Sprintf("FAILED: the last attempt of %s has failed.", terminal.Plural(t.Failed, "tick"))
	case t.TooEarly:
		return "NOT KNOWN: older lines of the journal are gone. The rest holds."
	}
	return accounted(t) + manualRuns(t) + "."
}

// accounted describes the ticks that were due.
func accounted(t *verify.Report) string {
	switch {
	case t.Due == 0:
		return "No tick was due"
	case t.Running+t.Waiting > 0:
		return fmt.Sprintf("%d ticks were due: %d run or wait to run, and each of the others has one verdict", t.Due, t.Running+t.Waiting)
	case t.Due == 1:
		return "1 tick was due, and has one verdict"
	}
	return fmt.Sprintf("%d ticks were due, and each has one verdict", t.Due)
}

// manualRuns describes the manual runs by their states, as the end of a sentence; "" if there are none.
func manualRuns(t *verify.Report) string {
	switch n := total(t.Manual); n {
	case 0:
		return ""
	case 1:
		return "; and 1 manual run: " + byReason(t.Manual)
	default:
		return fmt.Sprintf("; and %d manual runs: %s", n, byReason(t.Manual))
	}
}

func total(counts map[string]int) (n int) {
	for _, of := range counts {
		n += of
	}
	return n
}
