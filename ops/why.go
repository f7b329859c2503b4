package ops

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// Holders is a store that lists the holders of a shared lock.
type Holders interface {
	Holders(ctx context.Context, key string) ([]driver.Holder, error)
}

// Places reads the holders of the limit of a job, for a question about a tick whose state has been
// read. It returns nil if the job has no limit, or if the holders are not known.
func Places(ctx context.Context, store Holders, j *series.Journal) []driver.Holder {
	limit := why.LimitOf(j.Revisions)
	if limit.Of == 0 {
		return nil
	}
	all, err := store.Holders(ctx, limit.Key())
	if err != nil {
		return nil
	}
	return append([]driver.Holder{}, all...)
}

// Why explains a tick. It adds the reason why no node decides the tick, which the question lacks. The
// state in the question must have been read after the journal.
func Why(q why.Question, nodes *NodeList) why.Answer {
	if q.State.Err == nil {
		q.Alive, q.Seen, q.Removed = nodes.Known(), nodes.lastBeat, nodes.Removed(&q.Journal, &q.State)
		r, _ := Judge(q.Journal, &q.State, verify.Options{}, nodes)
		q.Cause = nodes.cause(&r, &q.State)
	}
	return why.Explain(q)
}
