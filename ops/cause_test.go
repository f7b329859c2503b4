package ops

import (
	"fmt"
	"strings"
	"testing"
)

// Needs of one state with one cause are one line with their number, the worst first; a few of one cause are listed one
// by one. Lines that are left out are counted.
func TestCauses(t *testing.T) {
	need := func(state State, job, cause string) Need {
		return Need{State: state, Job: job, Text: "text of " + job, Next: "next of " + job, cause: cause}
	}
	var needs []Need
	needs = append(needs, Need{State: Overdue, Text: "No node lives."})
	for i := range 1000 {
		needs = append(needs, need(Overdue, fmt.Sprintf("job-%04d", i), "no node lives"))
	}
	for i := range few {
		needs = append(needs, need(Overdue, fmt.Sprintf("other-%d", i), "no node has it"))
	}
	for i := range few + 1 {
		needs = append(needs, need(Failing, fmt.Sprintf("fails-%d", i), "connection refused"), need(Failing, fmt.Sprintf("single-%d", i), fmt.Sprint("error ", i)))
	}
	needs = append(needs, need(Missed, "missed", "connection refused"))
	show := func(most int) string {
		var b strings.Builder
		causes, left := Causes(needs, most)
		for _, c := range causes {
			fmt.Fprintf(&b, "%s %s %d %s (%s)\n", c.State, c.Job, len(c.Jobs), c.Text, c.Next)
		}
		fmt.Fprintf(&b, "%d left", left)
		return b.String()
	}
	const all = `overdue  0 No node lives. ()
overdue  1000 1000 jobs, such as job-0000, job-0001 and job-0002. The first: text of job-0000 (cronce status jobs --state overdue)
overdue other-0 0 text of other-0 (next of other-0)
overdue other-1 0 text of other-1 (next of other-1)
overdue other-2 0 text of other-2 (next of other-2)
failing  4 4 jobs, such as fails-0, fails-1 and fails-2. The first: text of fails-0 (cronce status jobs --state failing)
failing single-0 0 text of single-0 (next of single-0)
failing single-1 0 text of single-1 (next of single-1)
failing single-2 0 text of single-2 (next of single-2)
failing single-3 0 text of single-3 (next of single-3)
missed missed 0 text of missed (next of missed)
0 left`
	if got := show(50); got != all {
		t.Errorf("got\n%s\nwant\n%s", got, all)
	}
	lines := strings.Split(all, "\n")
	if got, want := show(4), strings.Join(lines[:4], "\n")+"\n10 left"; got != want {
		t.Errorf("at most four\n%s\nwant\n%s", got, want)
	}
	if causes, left := Causes(nil, 5); causes != nil || left != 0 {
		t.Errorf("%v, %d", causes, left)
	}
}
