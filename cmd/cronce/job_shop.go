package main

import (
	"errors"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// settleKind writes the orders of the shop into its database.
func settleKind(c *config.Config, at string, j *config.Job, p parts) (scheduler.Job, error) {
	return shopKind(c, at, j, p, func(s *shop) scheduler.Job { return stock.SettleOrders(s.sale, s.database, c.Shop.Batch) })
}

// releaseKind closes the orders of the shop that were not paid in time.
func releaseKind(c *config.Config, at string, j *config.Job, p parts) (scheduler.Job, error) {
	return shopKind(c, at, j, p, func(s *shop) scheduler.Job { return stock.ReleaseExpired(s.sale) })
}

// reconcileKind compares the shop with its database.
func reconcileKind(c *config.Config, at string, j *config.Job, p parts) (scheduler.Job, error) {
	return shopKind(c, at, j, p, func(s *shop) scheduler.Job { return stock.Reconcile(s.sale, s.database) })
}

func shopKind(c *config.Config, at string, j *config.Job, p parts, build func(*shop) scheduler.Job) (scheduler.Job, error) {
	idle := scheduler.Job{Name: j.Kind, Spec: "@daily", Func: idle}
	switch {
	case c.Shop == nil:
		return idle, c.Fault(at+".kind", "is %s, but there is no shop: set the section shop", j.Kind)
	case p.shop.sale == nil: // the shop has a fault
		return idle, nil
	}
	return build(p.shop), nil
}

// saleFaults gives what a sale refuses its place in the file.
func saleFaults(c *config.Config, err error) error {
	var errs []error
	for _, e := range config.Split(err) {
		f, ok := errors.AsType[*stock.FieldError](e)
		switch {
		case ok && f.Field == "namespace": // config.faults has refused it
		case ok && f.Field == "name":
			errs = append(errs, c.Fault("shop.sale", "is %s, allowed is %s", f.Value, f.Allowed))
		case ok:
			errs = append(errs, c.Fault("shop."+f.Field, "is %s, allowed is %s", f.Value, f.Allowed))
		default:
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}
