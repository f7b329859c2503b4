package node

import (
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/scheduler"
)

// demoKind is the kind of a job that nodes of the demo know, and no others.
const demoKind = "sms"

// demoJob makes the job that prints the due messages of the demo's outbox.
func demoJob(c *config.Config, p resources) (scheduler.Job, error) {
	outbox, err := sms.NewOutbox(p.client, sms.Options{Namespace: c.Namespace})
	if err != nil {
		return scheduler.Job{Name: sms.JobName, Spec: sms.JobSpec, Func: idle}, err
	}
	return sms.Job(outbox, sms.NewConsole(p.out), sms.Batch(50), sms.Concurrency(4)), nil
}
