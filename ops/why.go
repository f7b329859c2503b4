package ops

import (
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// Why explains a tick. If the tick is overdue it adds the cause, which the question lacks. The
// state in the question must have been read after the journal.
func Why(q why.Question, nodes *NodeList) why.Answer {
	if q.State.Err == nil {
		q.Alive, q.Seen, q.Removed = nodes.Known(), nodes.Seen, nodes.Removed(&q.Journal, &q.State)
		if _, late := Judge(q.Journal, &q.State, verify.Options{}, nodes); len(late) > 0 {
			q.Cause = late[0].Cause
		}
	}
	return why.Explain(q)
}
