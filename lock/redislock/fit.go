package redislock

import (
	"context"
	"errors"
	"slices"

	"github.com/cronce/cronce/lock/driver"
)

// CheckStore finds out with [Check], and Options.Check, whether client and server are
// fit, and with [Driver.Agree] whether this process lays its namespace out as the
// others do. What is a warning there is a risk here. Its error is a *RefusedError;
// unless that is lock.ErrUnfit no server answered. Masters of a Cluster that do not
// answer are a risk as long as one does: they keep no process from its work with the
// others.
func (d *Driver) CheckStore(ctx context.Context) ([]driver.Risk, error) {
	findings, err := Check(ctx, d.client, d.check)
	partly := err != nil && !errors.Is(err, driver.ErrUnfit) && slices.ContainsFunc(findings, answers)
	if err == nil || partly {
		err = d.Agree(ctx)
	}
	if refused, is := errors.AsType[*RefusedError](err); is && partly && !errors.Is(err, driver.ErrUnfit) {
		findings, err = append(findings, refused.Findings...), nil
	}
	if err != nil {
		return nil, err
	}
	var risks []driver.Risk
	for _, f := range findings {
		if f.Level != driver.LevelOK {
			risks = append(risks, driver.Risk{Topic: f.Topic, Server: f.Server, Text: f.Text, Fix: f.Fix})
		}
	}
	return risks, nil
}

// answers reports whether a finding is that a server answers.
func answers(f driver.Finding) bool {
	return f.Topic == driver.TopicConnection && f.Level == driver.LevelOK
}

// Namespace returns Options.Namespace, or what stands for it.
func (d *Driver) Namespace() string { return d.ns }
