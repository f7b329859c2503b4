package redlock

import (
	"context"
	"errors"
	"strings"

	"github.com/cronce/cronce/lock/driver"
)

var _ driver.StoreChecker = (*Driver)(nil)

// unfit is an error of a server that must not be used. It is lock.ErrUnfit.
type unfit string

func (e unfit) Error() string        { return string(e) }
func (e unfit) Is(target error) bool { return target == driver.ErrUnfit }

// CheckStore asks every server as [Driver.Check] does. Servers that are replicas, parts of a
// Cluster or one and the same refuse the store: the error is lock.ErrUnfit. Those that
// do not answer are a risk while a majority does, and doubt otherwise.
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
				Fix: "check its address, its user and password, and the network: the lock has one server less to lose"})
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
