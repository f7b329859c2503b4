package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cronce/cronce/jobs/stock"
)

// shopKinds are the jobs that a shop needs.
var shopKinds = []string{stock.SettleOrdersName, stock.ReleaseExpiredName, stock.ReconcileName}

// The kinds of jobs that deliver the events of the shop, each to one target.
const (
	KindStream  = stock.DeliverEventsName + ".stream"
	KindWebhook = stock.DeliverEventsName + ".webhook"
	KindTexts   = stock.DeliverEventsName + ".sms"
)

// AllJobs returns the jobs of the file, and the jobs that a shop needs and the file does not name.
// Its error reports that there is no job, or that there are two of a kind of which one is allowed.
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
	for _, kind := range append(slices.Clone(shopKinds), c.EventKinds()...) {
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
	texts := c.Shop.Events != nil && c.Shop.Events.SMS != nil // the job of the outbox sends them
	c.Jobs = slices.DeleteFunc(c.Jobs, func(j Job) bool { return !isShopKind(j.Kind) && !(texts && j.Kind == "sms") })
}

// oneOfEach refuses a second job on the outbox, or of a kind of the shop. The fences of two jobs
// cannot be compared, so each job would lock the other one out.
func (c *Config) oneOfEach() error {
	first := map[string]int{}
	for i := range c.Jobs {
		kind := c.Jobs[i].Kind
		if kind != "sms" && !isShopKind(kind) {
			continue
		}
		if earlier, ok := first[kind]; ok {
			return c.Fault(fmt.Sprintf("jobs[%d].kind", i), "is %s like jobs[%d], at %s, must be the only such job", kind, earlier, c.place(earlier))
		}
		first[kind] = i
	}
	return nil
}

// EventKinds returns the kinds of the jobs that deliver to the configured targets.
func (c *Config) EventKinds() (names []string) {
	if c.Shop == nil || c.Shop.Events == nil {
		return nil
	}
	e := c.Shop.Events
	for name, set := range map[string]bool{KindStream: e.Stream != nil, KindWebhook: e.Webhook != nil, KindTexts: e.SMS != nil} {
		if set {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// EventTargets returns the names of the configured targets.
func (c *Config) EventTargets() (names []string) {
	for _, kind := range c.EventKinds() {
		names = append(names, strings.TrimPrefix(kind, stock.DeliverEventsName+"."))
	}
	return names
}

// isShopKind reports whether jobs of a kind belong to a shop.
func isShopKind(kind string) bool {
	return slices.Contains(shopKinds, kind) || slices.Contains([]string{KindStream, KindWebhook, KindTexts}, kind)
}
