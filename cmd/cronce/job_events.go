package main

import (
	"errors"
	"slices"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// The kinds of jobs that deliver the events of the shop, each to one target.
const (
	streamKind = stock.DeliverEventsName + ".stream"
)

// deliverKinds make the targets.
var deliverKinds = map[string]func(c *config, p parts) (stock.Target, error){
	streamKind: (*config).stream,
}

// eventKinds are the kinds of jobs that deliver to the targets of the configuration.
func (c *config) eventKinds() (names []string) {
	if c.Shop == nil || c.Shop.Events == nil {
		return nil
	}
	for name, set := range map[string]bool{streamKind: c.Shop.Events.Stream != nil} {
		if set {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isShopKind reports whether jobs of a kind belong to a shop.
func isShopKind(kind string) bool {
	return slices.Contains(shopKinds, kind) || deliverKinds[kind] != nil
}

// deliverKind delivers the events of the shop to a target.
func deliverKind(c *config, at string, j *jobConfig, p parts) (scheduler.Job, error) {
	idle := scheduler.Job{Name: j.Kind, Spec: stock.DeliverEventsSpec, Func: idle}
	switch {
	case !slices.Contains(c.eventKinds(), j.Kind):
		return idle, c.fault(at+".kind", "is %s, but there is no such target: set it in the section shop.events", j.Kind)
	case p.shop.sale == nil: // the shop has a fault
		return idle, nil
	}
	target, err := deliverKinds[j.Kind](c, p)
	if err != nil {
		return idle, err
	}
	return stock.DeliverEvents(p.shop.sale, target)
}

// stream is the stream of Redis that events are added to.
func (c *config) stream(p parts) (stock.Target, error) {
	o := c.Shop.Events.Stream
	s, err := stock.NewStream(p.shop.sale, p.client, stock.StreamOptions{Key: o.Key, Length: o.Length})
	return s, c.eventFaults("shop.events.stream", err)
}

// eventFaults gives what a target refuses its place in the file.
func (c *config) eventFaults(at string, err error) error {
	var errs []error
	for _, e := range leaves(err) {
		if f, ok := errors.AsType[*stock.FieldError](e); ok {
			e = c.fault(at+"."+f.Field, "is %s, allowed is %s", f.Value, f.Allowed)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}
