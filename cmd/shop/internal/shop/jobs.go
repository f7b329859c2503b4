package shop

import (
	"errors"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// jobs returns the jobs of a shop. Its error joins the faults of their settings.
func (s *Shop) jobs(f *settings.File, out io.Writer, client redis.UniversalClient) ([]scheduler.Job, error) {
	all := []scheduler.Job{stock.SettleOrders(s.Sale), stock.ReleaseExpired(s.Sale), stock.Reconcile(s.Sale)}
	var faults []error
	add := func(job scheduler.Job, err error) {
		all, faults = append(all, job), append(faults, err)
	}
	if f.Webhook() != nil {
		add(deliverJob(f, s.Sale))
	}
	if f.SMS != nil {
		add(sendJob(f, out, client))
	}
	return all, errors.Join(faults...)
}
