package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/jobs/stock/events"
)

// shopKinds are the jobs that a shop needs; the last one only with a webhook.
var shopKinds = []string{stock.SettleOrdersName, stock.ReleaseExpiredName, stock.ReconcileName, events.JobName}

// AllJobs returns the jobs of the file, and the jobs that a shop needs and the file does not name.
// Its error reports that there is no job, or that there are two jobs of a kind that allows one.
func (c *Config) AllJobs() ([]Job, error) {
	jobs := c.withShopJobs()
	var none error
	if len(jobs) == 0 {
		none = c.Fault("jobs", "none, at least one is needed (see config.yaml for an example)")
	}
	return jobs, errors.Join(none, c.oneOfEach())
}

func (c *Config) withShopJobs() []Job {
	jobs := slices.Clone(c.Jobs)
	if c.Shop == nil {
		return jobs
	}
	for _, kind := range shopKinds {
		if kind == events.JobName && !c.HasWebhook() {
			continue
		}
		if !slices.ContainsFunc(c.Jobs, func(j Job) bool { return j.Kind == kind }) {
			jobs = append(jobs, Job{Kind: kind})
		}
	}
	return jobs
}

// HasExec reports whether a job runs a command.
func (c *Config) HasExec() bool {
	return slices.ContainsFunc(c.Jobs, func(j Job) bool { return j.Exec != nil })
}

// OnlyShop removes everything that is not needed for the shop, and adds a shop if the file has
// none.
func (c *Config) OnlyShop() {
	if c.Shop == nil {
		c.Shop = &Shop{}
	}
	c.Jobs = slices.DeleteFunc(c.Jobs, func(j Job) bool { return !slices.Contains(shopKinds, j.Kind) })
}

// oneOfEach refuses a second job on the outbox, or of a kind of the shop. The fences of two jobs
// are not comparable, so each job would lock the other one out.
func (c *Config) oneOfEach() error {
	first := map[string]int{}
	for i := range c.Jobs {
		kind := c.Jobs[i].Kind
		if kind != "sms" && !slices.Contains(shopKinds, kind) {
			continue
		}
		if earlier, ok := first[kind]; ok {
			return c.Fault(fmt.Sprintf("jobs[%d].kind", i), "is %s like jobs[%d], at %s, must be the only such job", kind, earlier, c.place(earlier))
		}
		first[kind] = i
	}
	return nil
}

// HasWebhook reports whether the events of the shop are posted.
func (c *Config) HasWebhook() bool {
	return c.Shop != nil && c.Shop.Events != nil && c.Shop.Events.Webhook != nil
}
