package proof

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// A Program is the program of the nodes.
type Program struct {
	Name string

	backend *Backend                                    // nil: a Redis
	command func(n Node, dir string) (*exec.Cmd, error) // dir is the folder for its files
	record  func(l *Line) (Record, bool)                // makes records of log lines, for jobs that do not write to a witness; nil otherwise
}

// Build builds the real binary into dir and returns its path.
func Build(dir string, race bool) (string, error) {
	path := filepath.Join(dir, "cronce")
	args := []string{"build", "-o", path} // with the flags of other builds, whose packages it takes from the cache
	if race {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "./cmd/cronce")...)
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cronce/cronce").Output()
	if err != nil {
		return "", fmt.Errorf("proof: find the module of the binary: %w", err)
	}
	build.Dir = strings.TrimSpace(string(root)) // whose go.mod has the versions of the dependencies
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("proof: build: %w\n%s", err, out)
	}
	return path, nil
}

// Binary returns the program that runs the real binary at path. Its jobs do not write to a witness,
// so the ledger is made of its log. It has no jobs that write, fail, or ignore their context.
func Binary(path string) Program {
	return Program{Name: "cronce", record: recordOf, command: func(n Node, dir string) (*exec.Cmd, error) {
		text, err := configuration(n)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, n.Name+".yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, fmt.Errorf("proof: binary: %w", err)
		}
		return exec.Command(path, "node", "--config", file, "--clock-offset", n.Offset.String()), nil
	}}
}

// configuration returns the node's config.yaml, as JSON, which is also YAML.
func configuration(n Node) ([]byte, error) {
	type object = map[string]any
	jobs := make([]object, len(n.Jobs))
	for i, j := range n.Jobs {
		if j.Deaf || j.Writes > 0 || j.Fail > 0 {
			return nil, fmt.Errorf("proof: binary: job %s needs a kind of job that the binary does not have", j.Name)
		}
		jobs[i] = object{
			"name": j.Name, "kind": "sleep", "spec": j.Spec(), "sleep": object{"for": j.Work.String()},
			"overlap": []string{"skip", "queue", "allow", "replace"}[j.Overlap], "misfire": []string{"once", "skip", "all"}[j.Misfire],
			"takeover": []string{"lost", "rerun"}[j.Takeover], "interrupted": []string{"rerun", "lost"}[j.Interrupted],
			"attempts": j.Attempts, "deadline": j.Deadline.String(), "timeout": j.Timeout.String(), "lease": j.Lease.String(),
			"retry": object{"tries": j.Retry.Tries, "wait": j.Retry.Wait.String(), "max": j.Retry.Max.String()},
		}
	}
	return json.MarshalIndent(object{
		"name": n.Name, "namespace": n.Namespace, "redis": object{"url": "redis://" + n.Store}, "jobs": jobs,
		"http": object{"address": "off"}, "log": object{"level": n.level().String(), "format": "json"},
		"scheduler": object{"grace": n.Grace.String(), "cancel_grace": n.CancelGrace.String(), "store_timeout": n.Timeout.String()},
	}, "", "  ")
}

// Command returns a command of the real binary at path that reads or changes the cluster's Redis. It is
// killed at the end of the test.
func (c *Cluster) Command(path string, args ...string) *exec.Cmd {
	return exec.CommandContext(c.t.Context(), path, append(args, "--redis", "redis://"+c.addr, "--namespace", namespace)...)
}

// recordOf makes a record of a log line about a run.
func recordOf(l *Line) (Record, bool) {
	at, err := time.Parse(tickLayout, l.Str("ts"))
	if err != nil || l.Tick() == 0 {
		return Record{}, false
	}
	r := Record{Job: l.Str("job"), Tick: l.Tick(), Fence: l.Int("fence"), Attempt: int(l.Int("attempt")), Try: 1, Node: l.Str("node"), Pid: l.Pid, At: at}
	switch l.Msg {
	case "run started":
		r.Kind = Start
	case "run finished":
		r.Kind, r.Cause = End, causes[l.Str("outcome")]
	default:
		return Record{}, false
	}
	return r, true
}

// causes are the outcomes that explain why the context of a run ended.
var causes = map[string]string{
	series.OutcomeLost:        lock.ErrLost.Error(),
	series.OutcomeReplaced:    scheduler.ErrReplaced.Error(),
	series.OutcomeCancelled:   scheduler.ErrCancelled.Error(),
	series.OutcomeTimeout:     scheduler.ErrTimeout.Error(),
	series.OutcomeInterrupted: scheduler.ErrDrained.Error(),
}
