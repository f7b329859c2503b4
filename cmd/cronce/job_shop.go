package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// shopKinds are the jobs that a shop needs.
var shopKinds = []string{stock.SettleOrdersName, stock.ReleaseExpiredName, stock.ReconcileName}

// What may rebuild a shelf that has lost something: the command shop restore alone,
// the default, or settleOrders too.
const (
	restoreManual = "manual"
	restoreAuto   = "auto"
)

// When an order is acknowledged: when Redis has it, the default, or the database too.
const (
	durabilityReserved = "reserved"
	durabilitySettled  = "settled"
)

// withShopJobs are the jobs of the file, and those of the shop that it does not
// name: with a shop it needs to name none.
func (c *config) withShopJobs() []jobConfig {
	jobs := slices.Clone(c.Jobs)
	if c.Shop == nil {
		return jobs
	}
	for _, kind := range append(slices.Clone(shopKinds), c.eventKinds()...) {
		if !slices.ContainsFunc(c.Jobs, func(j jobConfig) bool { return j.Kind == kind }) {
			jobs = append(jobs, jobConfig{Kind: kind})
		}
	}
	return jobs
}

// onlyShop drops what has nothing to do with the shop, and makes one if the file
// has none.
func (c *config) onlyShop() {
	if c.Shop == nil {
		c.Shop = &shopConfig{}
	}
	texts := c.Shop.Events != nil && c.Shop.Events.SMS != nil // which are sent by the job of the outbox
	c.Jobs = slices.DeleteFunc(c.Jobs, func(j jobConfig) bool { return !isShopKind(j.Kind) && !(texts && j.Kind == "sms") })
}

// settleKind writes the orders of the shop into its database.
func settleKind(c *config, at string, j *jobConfig, p parts) (scheduler.Job, error) {
	return c.shopKind(at, j, p, func(s *shop) scheduler.Job { return stock.SettleOrders(s.sale, s.database, c.Shop.Batch) })
}

// releaseKind closes the orders of the shop that were not paid in time.
func releaseKind(c *config, at string, j *jobConfig, p parts) (scheduler.Job, error) {
	return c.shopKind(at, j, p, func(s *shop) scheduler.Job { return stock.ReleaseExpired(s.sale) })
}

// reconcileKind compares the shop with its database.
func reconcileKind(c *config, at string, j *jobConfig, p parts) (scheduler.Job, error) {
	return c.shopKind(at, j, p, func(s *shop) scheduler.Job { return stock.Reconcile(s.sale, s.database) })
}

func (c *config) shopKind(at string, j *jobConfig, p parts, build func(*shop) scheduler.Job) (scheduler.Job, error) {
	idle := scheduler.Job{Name: j.Kind, Spec: "@daily", Func: idle}
	switch {
	case c.Shop == nil:
		return idle, c.fault(at+".kind", "is %s, but there is no shop: set the section shop", j.Kind)
	case p.shop.sale == nil: // the shop has a fault
		return idle, nil
	}
	return build(p.shop), nil
}

// shopFaults checks what only the shop has; what a sale refuses, openShop tells.
func (c *config) shopFaults(bad func(path, format string, args ...any)) {
	s := c.Shop
	if s == nil {
		return
	}
	if s.Address == "" {
		s.Address = defaultShop
	}
	c.listenFaults(bad, "shop", httpConfig{Address: s.Address, AllowRemote: s.AllowRemote})
	for i, host := range s.Hosts {
		if host == "" || strings.ContainsAny(host, ":/@ []") {
			bad(fmt.Sprintf("shop.hosts[%d]", i), "is %s, allowed is a name without a port, or * for any", shorten(host))
		}
	}
	s.gateFaults(bad)
	if s.Batch < 0 || s.Batch > stock.MaxBatch {
		bad("shop.batch", "is %d, allowed is 1 to %d", s.Batch, stock.MaxBatch)
	}
	if !slices.Contains([]string{"", restoreManual, restoreAuto}, s.Restore) {
		bad("shop.restore", "is %s, allowed is manual or auto", shorten(s.Restore))
	}
	if !slices.Contains([]string{"", durabilityReserved, durabilitySettled}, s.Durability) {
		bad("shop.durability", "is %s, allowed is reserved or settled", shorten(s.Durability))
	}
	if d := s.Database; d.File != "" && (d.DSNEnv != "" || d.DSNFile != "") {
		bad("shop.database.file", "and a DSN are both set, allowed is one of them")
	}
}

// saleFaults gives what a sale refuses its place in the file.
func (c *config) saleFaults(err error) error {
	var errs []error
	for _, e := range leaves(err) {
		f, ok := errors.AsType[*stock.FieldError](e)
		switch {
		case ok && f.Field == "namespace": // config.faults has refused it
		case ok && f.Field == "name":
			errs = append(errs, c.fault("shop.sale", "is %s, allowed is %s", f.Value, f.Allowed))
		case ok:
			errs = append(errs, c.fault("shop."+f.Field, "is %s, allowed is %s", f.Value, f.Allowed))
		default:
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}
