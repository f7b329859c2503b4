package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// A nodeList is the nodes of a namespace, as the store has them.
type nodeList struct {
	driver.MemberList
	alive map[string]bool
	err   error // why they are not known
}

// readNodes reads the list of nodes. With an error it is empty.
func (s inspector) readNodes(ctx context.Context) (*nodeList, error) {
	all, err := s.Driver.Members(ctx)
	if err != nil {
		err = s.Failed(err)
		return &nodeList{err: err}, err
	}
	f := &nodeList{MemberList: all, alive: map[string]bool{}}
	for i := range all.Members {
		if m := &all.Members[i]; m.Alive(all.Now) {
			f.alive[m.Node] = true
		}
	}
	return f, nil
}

// known reports which nodes live; nil: that is not known.
func (f *nodeList) known() func(node string) bool {
	if f.err != nil {
		return nil
	}
	return func(node string) bool { return f.alive[node] }
}

// gone are the nodes that left or fell silent, the latest first.
func (f *nodeList) gone() []driver.Member {
	all := slices.DeleteFunc(slices.Clone(f.Members), func(m driver.Member) bool { return m.Alive(f.Now) })
	slices.SortStableFunc(all, func(a, b driver.Member) int { return int(max(b.Until, b.Left) - max(a.Until, a.Left)) })
	return all
}

// departure says how a node went.
func departure(m *driver.Member) string {
	if m.Left != 0 {
		return fmt.Sprintf("%s left at %s (drained)", m.Node, terminal.RFC3339(m.Left))
	}
	return fmt.Sprintf("%s fell silent before %s (killed, or cut off from the store)", m.Node, terminal.RFC3339(m.Until))
}

// cause says why nothing was decided, as far as the store shows it.
func (f *nodeList) cause(r *verify.Report, s *driver.Series) string {
	seen := ""
	if r.SeenOn != "" {
		seen = fmt.Sprintf("%s was the last to be seen with this job, at %s", r.SeenOn, r.Seen.Format(time.RFC3339))
	}
	switch gone := f.gone(); {
	case s.Mark > s.Now+series.Tolerance:
		return fmt.Sprintf("the job is decided until %s: see cronce doctor", terminal.RFC3339(s.Mark))
	case f.err != nil && seen != "":
		return "which nodes live is not known: " + seen
	case f.err != nil:
		return "which nodes live is not known"
	case len(f.alive) == 0 && len(gone) > 0:
		return fmt.Sprintf("no node lives: %s", departure(&gone[0]))
	case len(f.alive) == 0 && seen != "":
		return "no node lives: " + seen
	case len(f.alive) == 0:
		return "no node lives"
	case f.alive[r.SeenOn]:
		return fmt.Sprintf("%s lives and has this job: its log and its /readyz say what keeps it", r.SeenOn)
	case seen == "":
		return fmt.Sprintf("no node has this job: %d nodes live, and none was seen with it; %s", len(f.alive), removed)
	}
	return fmt.Sprintf("no node has this job: %d nodes live, and none was seen with it of late: %s; %s", len(f.alive), seen, removed)
}

// maxNamed is how many of each kind doctor names.
const maxNamed = 5

// nodes reports which nodes live, and how the others left.
func (s inspector) nodes(ctx context.Context, d *diagnosis) {
	f, err := s.readNodes(ctx)
	if err != nil {
		d.cannot(driver.Finding{Topic: topicNodes, Text: "which nodes live is not known: " + err.Error(), Fix: letRead}, err)
		return
	}
	living := driver.Finding{Topic: topicNodes, Text: "no node lives"}
	if n := len(f.alive); n > 0 {
		living.Text = fmt.Sprintf("%d live: %s", n, terminal.Names(slices.Sorted(maps.Keys(f.alive)), maxNamed))
	}
	all := []driver.Finding{living}
	gone := f.gone()
	for i := range gone[:min(len(gone), maxNamed)] {
		all = append(all, driver.Finding{Topic: topicNodes, Text: departure(&gone[i])})
	}
	if more := len(gone) - maxNamed; more > 0 {
		all = append(all, driver.Finding{Topic: topicNodes, Text: fmt.Sprintf("and %d more went within a day", more)})
	}
	d.add(all...)
}
