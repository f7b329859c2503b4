package redislock

import (
	"context"

	"github.com/cronce/cronce/lock"
)

// Fit finds out with [Check], and Options.Check, whether client and server are
// fit, and with [Driver.Agree] whether this process lays its namespace out as the
// others do. What is a warning there is a risk here. Its error is a *RefusedError;
// unless that is lock.ErrUnfit nobody answered.
func (d *Driver) Fit(ctx context.Context) ([]lock.Risk, error) {
	findings, err := Check(ctx, d.client, d.check)
	if err == nil {
		err = d.Agree(ctx)
	}
	if err != nil {
		return nil, err
	}
	var risks []lock.Risk
	for _, f := range findings {
		if f.Level == Warn {
			risks = append(risks, lock.Risk{Topic: f.Topic, Server: f.Server, Text: f.Text, Fix: f.Fix})
		}
	}
	return risks, nil
}

// Namespace returns Options.Namespace, or what stands for it.
func (d *Driver) Namespace() string { return d.ns }
