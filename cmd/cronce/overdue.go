package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// secondLook is how long after the first look overdue ticks are looked at again while
// nodes live: those may have just returned, and decide what was missed a moment later.
const secondLook = 3 * time.Second

// A roll is the nodes of a namespace, as the store has them.
type roll struct {
	driver.MemberList
	alive map[string]bool
	err   error // why they are not known
}

// roll reads the list of nodes. With an error it is empty.
func (s *store) roll(ctx context.Context) (*roll, error) {
	all, err := s.driver.Members(ctx)
	if err != nil {
		err = s.failed(err)
		return &roll{err: err}, err
	}
	f := &roll{MemberList: all, alive: map[string]bool{}}
	for i := range all.Members {
		if m := &all.Members[i]; m.Alive(all.Now) {
			f.alive[m.Node] = true
		}
	}
	return f, nil
}

// known reports which nodes live; nil: that is not known.
func (f *roll) known() func(node string) bool {
	if f.err != nil {
		return nil
	}
	return func(node string) bool { return f.alive[node] }
}

// gone are the nodes that left or fell silent, the latest first.
func (f *roll) gone() []driver.Member {
	all := slices.DeleteFunc(slices.Clone(f.Members), func(m driver.Member) bool { return m.Alive(f.Now) })
	slices.SortStableFunc(all, func(a, b driver.Member) int { return int(max(b.Until, b.Left) - max(a.Until, a.Left)) })
	return all
}

// parting says how a node went.
func parting(m *driver.Member) string {
	if m.Left != 0 {
		return fmt.Sprintf("%s left at %s (drained)", m.Node, rfc3339(m.Left))
	}
	return fmt.Sprintf("%s fell silent before %s (killed, or cut off from the store)", m.Node, rfc3339(m.Until))
}

func rfc3339(ms int64) string { return instant(ms).Format(time.RFC3339) }

// cause says why nothing was decided, as far as the store shows it.
func (f *roll) cause(r *verify.Report, s *driver.Series) string {
	seen := ""
	if r.SeenOn != "" {
		seen = fmt.Sprintf("%s was the last to be seen with this job, at %s", r.SeenOn, r.Seen.Format(time.RFC3339))
	}
	switch gone := f.gone(); {
	case s.Mark > s.Now+series.Tolerance:
		return fmt.Sprintf("the job is decided until %s: see cronce doctor", rfc3339(s.Mark))
	case f.err != nil && seen != "":
		return "which nodes live is not known: " + seen
	case f.err != nil:
		return "which nodes live is not known"
	case len(f.alive) == 0 && len(gone) > 0:
		return fmt.Sprintf("no node lives: %s", parting(&gone[0]))
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

// removed is what to do with a job that is in no configuration any more.
const removed = "if it was removed, pause it: cronce pause"

// A lateness is what is overdue of a job, for people and machines.
type lateness struct {
	Job string `json:"job"`
	verify.Overdue
	AgeMs int64  `json:"age_ms"` // since its time was over
	Cause string `json:"cause"`
}

func (l *lateness) String() string {
	what := "was due and has no verdict"
	switch l.State {
	case "open":
		what = fmt.Sprintf("was granted to %s with fence %d, its lease is over, and no node has settled it or taken it over", l.Node, l.Fence)
	case "waiting":
		what = "waits, and no run is alive that it waits for"
	case "unstarted":
		what = fmt.Sprintf("was granted to %s and never started, and no node has taken it", l.Node)
	case "interrupted":
		what = fmt.Sprintf("was given back by %s, and no node has taken it", l.Node)
	}
	tick := l.Tick.Format("2006-01-02T15:04:05.000Z07:00")
	if l.Ticks > 1 {
		tick = fmt.Sprintf("%s, and %d more up to %s,", tick, l.Ticks-1, l.Last.Format("2006-01-02T15:04:05.000Z07:00"))
	}
	age := (time.Duration(l.AgeMs) * time.Millisecond).Round(time.Second)
	return fmt.Sprintf("%s: OVERDUE %s %s; its time was over %v ago; %s", l.Job, tick, what, age, l.Cause)
}

// latenesses are what is overdue of a job.
func latenesses(r *verify.Report, s *driver.Series, f *roll) (all []lateness) {
	for _, o := range r.Late {
		all = append(all, lateness{Job: r.Job, Overdue: o, AgeMs: s.Now - o.Since.UnixMilli(), Cause: f.cause(r, s)})
	}
	return all
}

// risks says of a store that may forget what was decided why it may: the server evicts keys,
// or writes too little to disk. It is "" of one that keeps them.
func (s *store) risks(ctx context.Context) string {
	findings, err := s.check(ctx)
	if err != nil && !errors.Is(err, lock.ErrUnfit) {
		return "store risk: not known, the check of the store did not end: see cronce doctor"
	}
	var texts []string
	for _, f := range findings {
		forgets := f.Topic == driver.TopicEviction || f.Topic == driver.TopicPersistence
		if text := fmt.Sprintf("store risk: %s: %s", f.Topic, f.Text); forgets && f.Level != driver.LevelOK && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// risk adds what may have made the store forget to the causes of what is overdue.
func (p *proof) risk(text string) {
	if text == "" {
		return
	}
	for i := range p.Overdue {
		p.Overdue[i].Cause += "; " + text
	}
}

// Topics of doctor.
const (
	topicNodes   = "nodes"
	topicOverdue = "overdue"
)

// fewNodes is how many of each kind doctor names.
const fewNodes = 5

// nodes reports which nodes live, and how the others left.
func (s *store) nodes(ctx context.Context, d *diagnosis) {
	f, err := s.roll(ctx)
	if err != nil {
		d.cannot(driver.Finding{Topic: topicNodes, Text: "which nodes live is not known: " + err.Error(), Fix: letRead}, err)
		return
	}
	living := driver.Finding{Topic: topicNodes, Text: "no node lives"}
	if n := len(f.alive); n > 0 {
		living.Text = fmt.Sprintf("%d live: %s", n, named(slices.Sorted(maps.Keys(f.alive)), fewNodes))
	}
	all := []driver.Finding{living}
	gone := f.gone()
	for i := range gone[:min(len(gone), fewNodes)] {
		all = append(all, driver.Finding{Topic: topicNodes, Text: parting(&gone[i])})
	}
	if more := len(gone) - fewNodes; more > 0 {
		all = append(all, driver.Finding{Topic: topicNodes, Text: fmt.Sprintf("and %d more went within a day", more)})
	}
	d.add(all...)
}

// named lists the first names and counts the rest.
func named(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// notKnown names the jobs of which it is not known whether a tick is overdue, or not of
// all ticks. It returns how many there are.
func (p *proof) notKnown(d *diagnosis) (unread int) {
	for i := range p.Jobs {
		r := &p.Jobs[i]
		if len(r.Faults) == 0 || p.absent[r.Job] {
			continue
		}
		if unread++; unread > fewNodes {
			d.without(p.unread[r.Job])
		} else {
			d.cannot(driver.Finding{Topic: topicOverdue, Text: fmt.Sprintf("not known of job %q: %s", r.Job, r.Faults[0]),
				Fix: "see docs/redis.md for what its keys should have"}, p.unread[r.Job])
		}
	}
	if more := unread - fewNodes; more > 0 {
		d.findings = append(d.findings, driver.Finding{Level: driver.LevelRefuse, Topic: topicOverdue, Text: fmt.Sprintf("nor of %d more jobs", more)})
	}
	return unread
}

// unopened warns of jobs of the configuration that the store does not have: that is normal
// before the nodes are deployed that have them.
func (p *proof) unopened(d *diagnosis) {
	if len(p.absent) > 0 {
		d.add(driver.Finding{Level: driver.LevelWarn, Topic: topicOverdue, Fix: "start nodes with this configuration; look at the log and the /readyz of those that run",
			Text: "not on record, though the configuration has them: " + named(slices.Sorted(maps.Keys(p.absent)), fewNodes)})
	}
}

// overdue reports the ticks that are overdue.
func (s *store) overdue(ctx context.Context, d *diagnosis) {
	p, err := s.prove(ctx, verifyFlags{})
	if err != nil {
		d.cannot(driver.Finding{Topic: topicOverdue, Text: err.Error(), Fix: letRead}, err)
		return
	}
	p.unopened(d)
	for i, fault := range p.Faults {
		d.cannot(driver.Finding{Topic: topicOverdue, Text: fault, Fix: letRead}, p.doubts[i])
	}
	switch unread := p.notKnown(d) + len(p.Faults); {
	case len(p.Jobs) == 0:
		d.add(driver.Finding{Level: driver.LevelWarn, Topic: topicOverdue, Text: "not known: " + s.noRecord().Error(),
			Fix: "start the nodes; if there were some before, find out what the store lost"})
		return
	case len(p.Overdue)+unread == 0:
		d.add(driver.Finding{Topic: topicOverdue, Text: "no tick is overdue"})
		return
	case len(p.Overdue) == 0:
		return
	}
	var all []driver.Finding
	for i := range p.Overdue[:min(len(p.Overdue), fewNodes)] {
		all = append(all, driver.Finding{Level: driver.LevelRefuse, Topic: topicOverdue, Text: p.Overdue[i].String()})
	}
	if more := len(p.Overdue) - fewNodes; more > 0 {
		all = append(all, driver.Finding{Level: driver.LevelRefuse, Topic: topicOverdue, Text: fmt.Sprintf("and %d more", more)})
	}
	all[len(all)-1].Fix = "start nodes that have these jobs; announce a planned stop with cronce pause"
	d.add(all...)
}
