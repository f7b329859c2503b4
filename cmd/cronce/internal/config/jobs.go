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

// AllJobs returns the jobs of the file, and those of the shop that it does not name: with a shop
// it needs to name none. Its error says that there is none, or two where one is allowed.
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

// OnlyShop drops what has nothing to do with the shop, and makes one if the file
// has none.
func (c *Config) OnlyShop() {
	if c.Shop == nil {
		c.Shop = &Shop{}
	}
	texts := c.Shop.Events != nil && c.Shop.Events.SMS != nil // which are sent by the job of the outbox
	c.Jobs = slices.DeleteFunc(c.Jobs, func(j Job) bool { return !isShopKind(j.Kind) && !(texts && j.Kind == "sms") })
}

// oneOfEach refuses a second job on the outbox, or of a kind of the shop: the
// fences of two jobs do not compare, so each would lock the other out.
func (c *Config) oneOfEach() error {
	first := map[string]int{}
	for i := range c.Jobs {
		kind := c.Jobs[i].Kind
		if kind != "sms" && !isShopKind(kind) {
			continue
		}
		if earlier, ok := first[kind]; ok {
			return c.Fault(fmt.Sprintf("jobs[%d].kind", i), "is %s like jobs[%d], must be the only such job", kind, earlier)
		}
		first[kind] = i
	}
	return nil
}

// EventKinds are the kinds of jobs that deliver to the targets of the configuration.
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

// EventTargets are the names of the targets of the configuration.
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
