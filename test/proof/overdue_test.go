package proof_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/test/proof"
)

// All nodes are killed. The command names the next tick as overdue as soon as its deadline and the grace have passed, with
// its job and the cause. Then the store is stopped: whether a tick is overdue is not known.
func TestOverdueWithoutNodes(t *testing.T) {
	t.Parallel()
	c := proof.NewCluster(t, binary(t))
	j := proof.Job{Name: "report", Every: 2 * time.Second, Deadline: time.Second}
	startNodes(c, 3, proof.Node{Jobs: []proof.Job{j}})
	c.Warm(j)
	var last series.Line
	from := lastLine(c, j)
	rig.Eventually(t, "the store has the end of a run", func() bool {
		last = lastLine(c, j)
		return last.To > from.To && last.Outcome != ""
	})
	for _, p := range c.Alive() {
		p.Kill()
	}
	next := time.UnixMilli(last.To).Add(j.Every).UTC()
	due := next.Add(j.Deadline + verify.DefaultGrace)
	var r overdueReport
	rig.Eventually(t, "the next tick is overdue", func() bool {
		<-time.After(100 * time.Millisecond) // the machine is left to other processes
		var code int
		code, r = readOverdue(t, c)
		if code == 0 && !r.Now.Before(due) {
			t.Fatalf("at %v nothing is overdue, although the tick %v is from %v on", r.Now, next, due)
		}
		return code == 1
	})
	if len(r.Overdue) != 1 || r.Overdue[0].Job != j.Name || !r.Overdue[0].Tick.Equal(next) || r.Overdue[0].Age() < verify.DefaultGrace {
		t.Errorf("overdue is %+v, want the tick %v of %s", r.Overdue, next, j.Name)
	}
	code, out := answer(t, c, "status", "overdue")
	// Which node was seen last with the job is in another sentence while the others count as live and that one does not.
	for _, part := range []string{"report: OVERDUE " + regexp.QuoteMeta(next.Format("2006-01-02T15:04:05.000Z")), " has no verdict; ", " was (last seen|the last to be seen with this job,) at "} {
		if code != 1 || !regexp.MustCompile(part).MatchString(out) {
			t.Errorf("exit code %d, without %q: %s", code, part, out)
		}
	}
	c.Store.Stop()
	if code, out := answer(t, c, "status", "overdue"); code != 4 || strings.Contains(strings.ToLower(out), "overdue") {
		t.Errorf("without the store, exit code %d: %s", code, out)
	}
}

func lastLine(c *proof.Cluster, j proof.Job) series.Line {
	lines := c.Journals(j)[j.Name].Lines
	return lines[len(lines)-1]
}

// An overdueReport is the answer of the command to a program.
type overdueReport struct {
	Now     time.Time
	Overdue []ops.OverdueTick
}

func readOverdue(t *testing.T, c *proof.Cluster) (code int, r overdueReport) {
	t.Helper()
	code, out := answer(t, c, "status", "overdue", "-o", "json")
	if err := json.Unmarshal([]byte(out), &r); err != nil && code < 2 { // a slow machine may make it doubt
		t.Fatalf("%d, %v: %s", code, err, out)
	}
	return code, r
}

// answer runs a command of the real binary, and returns its exit code and its output.
func answer(t *testing.T, c *proof.Cluster, args ...string) (code int, out string) {
	t.Helper()
	cmd := c.Command(built.path, args...)
	text, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}
