package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/ops"
)

// readNodes reads the list of nodes. The list is empty if there is an error.
func (s inspector) readNodes(ctx context.Context) (*ops.NodeList, error) {
	all, err := s.Driver.Members(ctx)
	if err != nil {
		err = s.Failed(err)
	}
	return ops.NewNodeList(all, err), err
}

// maxNamed is the most nodes of each kind that doctor names.
const maxNamed = 5

// nodes reports the live nodes, and how the others left.
func (s inspector) nodes(ctx context.Context, d *diagnosis) {
	f, err := s.readNodes(ctx)
	if err != nil {
		d.cannot(redislock.Finding{Topic: topicNodes, Text: "which nodes live is not known: " + err.Error(), Fix: letRead}, err)
		return
	}
	living := redislock.Finding{Level: redislock.LevelWarn, Topic: topicNodes, Text: "no node lives", Fix: "start one: cronce node --config config.yaml"}
	if n := f.Alive(); n > 0 {
		living = redislock.Finding{Topic: topicNodes}
		living.Text = fmt.Sprintf("%d live: %s", n, terminal.Names(f.Names(), maxNamed))
	}
	all := append([]redislock.Finding{living}, clocksOf(f)...)
	gone := f.Gone()
	for i := range gone[:min(len(gone), maxNamed)] {
		all = append(all, redislock.Finding{Topic: topicNodes, Text: ops.Departure(&gone[i])})
	}
	if more := len(gone) - maxNamed; more > 0 {
		all = append(all, redislock.Finding{Topic: topicNodes, Text: fmt.Sprintf("and %d more went within a day", more)})
	}
	d.add(all...)
}

// clocksOf reports live nodes whose clocks were off at their last heartbeats.
func clocksOf(f *ops.NodeList) (all []redislock.Finding) {
	for i := range f.Members {
		m := &f.Members[i]
		if m.Ahead == nil || !m.Alive(f.Now) {
			continue
		}
		if offset := time.Duration(*m.Ahead) * time.Millisecond; offset.Abs() > clockWarn && len(all) < maxNamed {
			all = append(all, redislock.Finding{Level: redislock.LevelWarn, Topic: topicClock, Fix: syncClocks,
				Text: fmt.Sprintf("the clock of %s is %s %s the server's", m.Node, shortly(offset.Abs()), aheadOf(offset))})
		}
	}
	return all
}
