package ops

import (
	"fmt"
	"strings"
	"time"
)

// few is the number of jobs with one cause that are listed one by one.
const few = 3

// A Cause is a reason why people are required, of one job or of several.
type Cause struct {
	Need          // of several jobs: the worst of them, without a job and a tick
	Jobs []string // of several: their names; nil otherwise
}

// Causes groups needs by their cause, the worst first, so that an outage of many jobs is one line. It
// returns at most the given number, and how many needs are left out.
func Causes(needs []Need, most int) (causes []Cause, left int) {
	size, group := map[[2]string]int{}, map[[2]string]int{}
	for i := range needs {
		size[needs[i].kind()]++
	}
	for i := range needs {
		n, kind := &needs[i], needs[i].kind()
		at, known := group[kind]
		switch {
		case known:
			causes[at].Jobs = append(causes[at].Jobs, n.Job)
		case len(causes) == most:
			left++
		case n.Job == "" || size[kind] <= few:
			causes = append(causes, Cause{Need: *n})
		default:
			group[kind] = len(causes)
			causes = append(causes, Cause{Need: *n, Jobs: []string{n.Job}})
		}
	}
	for i := range causes {
		causes[i].together()
	}
	return causes, left
}

// kind returns the state and the cause of a need: needs with the same two are one line.
func (n *Need) kind() [2]string {
	if n.Job == "" {
		return [2]string{string(n.State), "\x00" + n.Text}
	}
	return [2]string{string(n.State), n.cause}
}

// together describes a cause of several jobs.
func (c *Cause) together() {
	if len(c.Jobs) == 0 {
		return
	}
	c.Text = fmt.Sprintf("%d jobs, such as %s and %s. The first: %s", len(c.Jobs), strings.Join(c.Jobs[:few-1], ", "), c.Jobs[few-1], c.Text)
	c.Job, c.Tick, c.Next = "", time.Time{}, "cronce status jobs --state "+string(c.State)
}
