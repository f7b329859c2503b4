package node

import (
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/shop"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// settleKind makes the job that writes the orders of the shop into its database.
func settleKind(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error) {
	return shopKind(c, at, j, p, func(s *shop.Shop) scheduler.Job { return stock.SettleOrders(s.Sale, s.Database, c.Shop.Batch) })
}

// releaseKind makes the job that closes the orders that were not paid in time.
func releaseKind(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error) {
	return shopKind(c, at, j, p, func(s *shop.Shop) scheduler.Job { return stock.ReleaseExpired(s.Sale) })
}

// reconcileKind makes the job that compares the shop with its database.
func reconcileKind(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error) {
	return shopKind(c, at, j, p, func(s *shop.Shop) scheduler.Job { return stock.Reconcile(s.Sale, s.Database) })
}

func shopKind(c *config.Config, at string, j *config.Job, p resources, build func(*shop.Shop) scheduler.Job) (scheduler.Job, error) {
	idle := scheduler.Job{Name: j.Kind, Spec: "@daily", Func: idle}
	switch {
	case c.Shop == nil:
		return idle, c.Fault(at+".kind", "is %s, but there is no shop: set the section shop", j.Kind)
	case p.shop.Sale == nil: // the shop has a fault
		return idle, nil
	}
	return build(p.shop), nil
}
