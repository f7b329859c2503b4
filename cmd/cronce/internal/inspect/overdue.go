package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/ops"
)

// risks returns why a store may lose decisions, or takes none: the server evicts keys, writes too
// little to disk, or is at maxmemory. It returns "" for a store that keeps them.
func (s inspector) risks(ctx context.Context) string {
	findings, err := s.check(ctx)
	if err != nil && !errors.Is(err, lock.ErrUnfit) {
		return "store risk: not known, the check of the store did not end: see cronce doctor"
	}
	var texts []string
	for _, f := range findings {
		forgets := f.Topic == redislock.TopicEviction || f.Topic == redislock.TopicPersistence
		full := f.Topic == redislock.TopicMemory && f.Level == redislock.LevelRefuse
		if text := fmt.Sprintf("store risk: %s: %s", f.Topic, f.Text); (forgets && f.Level != redislock.LevelOK || full) && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// risk adds the reason why the store may have lost data to the causes of overdue ticks.
func (p *Proof) risk(text string) {
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

// notKnown reports the jobs for which it is not known whether a tick is overdue, at least for some
// ticks. It returns their number.
func (p *Proof) notKnown(d *diagnosis) (unread int) {
	for i := range p.Jobs {
		r := &p.Jobs[i]
		if len(r.Faults) == 0 || p.absent[r.Job] {
			continue
		}
		if unread++; unread > maxNamed {
			d.without(p.unread[r.Job])
		} else {
			d.cannot(redislock.Finding{Topic: topicOverdue, Text: fmt.Sprintf("not known of job %q: %s", r.Job, r.Faults[0]),
				Fix: "see docs/redis.md for the contents of its keys"}, p.unread[r.Job])
		}
	}
	if more := unread - maxNamed; more > 0 {
		d.findings = append(d.findings, redislock.Finding{Level: redislock.LevelRefuse, Topic: topicOverdue, Text: fmt.Sprintf("nor of %d more jobs", more)})
	}
	return unread
}

// unopened warns of jobs of the configuration that the store does not have. This is normal until
// nodes with these jobs are deployed.
func (p *Proof) unopened(d *diagnosis) {
	if len(p.absent) > 0 {
		d.add(redislock.Finding{Level: redislock.LevelWarn, Topic: topicOverdue, Fix: "start nodes with this configuration; check the log and the /readyz of those that run",
			Text: "not on record, though the configuration has them: " + terminal.Names(slices.Sorted(maps.Keys(p.absent)), maxNamed)})
	}
}

// overdue reports the overdue ticks.
func (s inspector) overdue(ctx context.Context, d *diagnosis) {
	p, err := s.prove(ctx, verifyFlags{})
	if err != nil {
		d.cannot(redislock.Finding{Topic: topicOverdue, Text: err.Error(), Fix: letRead}, err)
		return
	}
	p.unopened(d)
	for i, fault := range p.Faults {
		d.cannot(redislock.Finding{Topic: topicOverdue, Text: fault, Fix: letRead}, p.doubts[i])
	}
	switch unread := p.notKnown(d) + len(p.Faults); {
	case len(p.Jobs) == 0:
		d.add(redislock.Finding{Level: redislock.LevelWarn, Topic: topicOverdue, Text: "not known: " + s.NoRecord().Error(),
			Fix: "start the nodes; if there were some before, find out which data the store lost"})
		return
	case len(p.Overdue)+unread == 0:
		d.add(redislock.Finding{Topic: topicOverdue, Text: "no tick is overdue"})
		return
	case len(p.Overdue) == 0:
		return
	}
	var all []redislock.Finding
	for i := range p.Overdue[:min(len(p.Overdue), maxNamed)] {
		all = append(all, redislock.Finding{Level: redislock.LevelRefuse, Topic: topicOverdue, Text: p.Overdue[i].String()})
	}
	if more := len(p.Overdue) - maxNamed; more > 0 {
		all = append(all, redislock.Finding{Level: redislock.LevelRefuse, Topic: topicOverdue, Text: fmt.Sprintf("and %d more", more)})
	}
	all[len(all)-1].Fix = adviceFor(p.Overdue)
	d.add(all...)
}

// adviceFor returns how to mend overdue ticks: more nodes do not help a job that a live node has.
func adviceFor(late []ops.OverdueTick) string {
	held := 0
	for i := range late {
		if late[i].Held {
			held++
		}
	}
	switch held {
	case 0:
		return "start nodes that have these jobs; announce a planned stop with cronce pause"
	case len(late):
		return "see the log and the /readyz of the nodes that have these jobs"
	}
	return "start nodes for the jobs that no live node has; for the others see the log and the /readyz of their nodes"
}
