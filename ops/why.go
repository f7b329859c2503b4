package ops

import (
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// Why says what became of a tick, with the cause if it is overdue, which the question lacks. Of the question the state
// was read after the journal.
func Why(q why.Question, nodes *NodeList) why.Answer {
	if q.State.Err == nil {
		q.Alive, q.Seen = nodes.Known(), nodes.Seen
		if _, late := Judge(q.Journal, &q.State, verify.Options{}, nodes); len(late) > 0 {
			q.Cause = late[0].Cause
		}
	}
	return why.Explain(q)
}
