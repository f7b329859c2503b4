package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// Check requests the run id of every server and returns all problems, joined: a server that does
// not answer, a server that is a replica or part of a Cluster, and two clients of one process under
// different addresses. A server whose user may not use INFO is skipped. Call Check before using the
// Driver.
func (d *Driver) Check(ctx context.Context) error { return errors.Join(d.inspect(ctx)...) }

// inspect returns the problem of each server, at the server's index. Behind them come errors for
// addresses that are the same server.
func (d *Driver) inspect(ctx context.Context) []error {
	errs := make([]error, len(d.nodes))
	ids := make([]string, len(d.nodes))
	var wg sync.WaitGroup
	for i, n := range d.nodes {
		wg.Go(func() { ids[i], errs[i] = n.identify(ctx) })
	}
	wg.Wait()
	for i, id := range ids {
		if first := slices.Index(ids, id); id != "" && first < i {
			errs = append(errs, unfit(fmt.Sprintf("redlock: check: %s and %s are one server, with the run id %s: use %d servers",
				d.nodes[first].addr(), d.nodes[i].addr(), id, len(d.nodes))))
		}
	}
	return errs
}

// identify returns the server's run id, or "" if the server does not report it.
func (n *node) identify(ctx context.Context) (string, error) {
	addr := n.addr()
	text, err := n.client.Info(ctx).Result()
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("redlock: check: %s: %w", addr, err)
	}
	said := func(name, value string) bool { return strings.Contains("\n"+text, "\n"+name+":"+value) }
	switch {
	case said("role", "slave"):
		return "", unfit(fmt.Sprintf("redlock: check: %s is a replica: use independent masters", addr))
	case said("cluster_enabled", "1"):
		return "", unfit(fmt.Sprintf("redlock: check: %s is part of a Cluster: use independent masters", addr))
	}
	_, id, _ := strings.Cut(text, "\nrun_id:")
	id, _, _ = strings.Cut(id, "\r\n")
	return id, nil
}

var _ driver.StoreChecker = (*Driver)(nil)

// unfit is the error of a server that must not be used. For errors.Is it is lock.ErrUnfit.
type unfit string

func (e unfit) Error() string { return string(e) }

func (e unfit) Is(target error) bool { return target == driver.ErrUnfit }

// CheckStore checks every server like [Driver.Check]. The store is refused if servers are replicas,
// parts of a Cluster or the same server: the error is lock.ErrUnfit. Servers that do not answer are
// a risk if a majority does; otherwise the error is doubt.
func (d *Driver) CheckStore(ctx context.Context) ([]driver.Risk, error) {
	all := d.inspect(ctx)
	var risks []driver.Risk
	var wrong []error
	for i, err := range all[:len(d.nodes)] {
		switch {
		case err == nil:
		case errors.Is(err, driver.ErrUnfit):
			wrong = append(wrong, err)
		default:
			text := strings.TrimPrefix(err.Error(), "redlock: check: "+d.nodes[i].addr()+": ")
			risks = append(risks, driver.Risk{Topic: "connection", Server: d.nodes[i].addr(), Text: "the server does not answer: " + text,
				Fix: "check its address, its user and password, and the network: the lock tolerates the loss of one server less"})
		}
	}
	wrong = append(wrong, all[len(d.nodes):]...)
	switch {
	case len(wrong) > 0:
		return nil, errors.Join(wrong...)
	case len(d.nodes)-len(risks) < d.majority:
		return nil, errors.Join(all...)
	}
	return risks, nil
}
