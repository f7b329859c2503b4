package ops

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// An AuditView is a record of the audit, for machines.
type AuditView struct {
	Partition int           `json:"partition"`
	Number    int64         `json:"number"`
	At        time.Time     `json:"at,omitzero"`
	Who       string        `json:"who"`
	Action    series.Action `json:"action"`
	Job       string        `json:"job"`
	Change    int64         `json:"change"` // the number of the change in the job
	Before    string        `json:"before"`
	After     string        `json:"after"`
	Reason    string        `json:"reason,omitempty"`
	Op        string        `json:"op"`

	Unreadable string `json:"unreadable,omitempty"`
}

// AuditViews returns the views of records.
func AuditViews(records []series.AuditRecord) []AuditView {
	views := make([]AuditView, len(records))
	for i, r := range records {
		views[i] = AuditView{r.Partition, r.Number, time.Time{}, r.Who, r.Action, r.Key, r.Change, r.Before, r.After, r.Reason, r.Op, r.Unreadable}
		if r.At != 0 {
			views[i].At = time.UnixMicro(r.At).UTC()
		}
	}
	return views
}

// AuditGaps returns the first number that is missing in the newest records of a namespace, in words,
// or "". Store is the store from which the records were read. Between the newest records of several
// partitions, and between the records of one job, numbers are missing.
func AuditGaps(store any, job string, records []series.AuditRecord) string {
	if front, ok := store.(series.Front); ok {
		store = front.Driver
	}
	if partitioned, ok := store.(series.Partitioned); job != "" || ok && partitioned.Partitions() > 1 {
		return "" // the numbers in between belong to other jobs
	}
	if gaps := verify.Gaps(records); len(gaps) > 0 {
		return gaps[0].Text
	}
	return ""
}

// MarshalJSON implements [json.Marshaler]. Instants in the states are in RFC 3339.
func (v AuditView) MarshalJSON() ([]byte, error) {
	type plain AuditView // without this method
	v.Before, v.After = stateJSON(v.Before), stateJSON(v.After)
	return json.Marshal(plain(v))
}

// stateJSON returns the state of a job in a record, with its instant in RFC 3339 in place of Unix ms.
func stateJSON(state string) string {
	head, scope, scoped := strings.Cut(state, ": ")
	place := strings.LastIndex(head, " ")
	words := []string{"paused until", "cancelled", string(series.ActionRun), string(series.ActionSkip)}
	if place < 0 || !slices.Contains(words, head[:place]) {
		return state
	}
	ms, err := strconv.ParseInt(head[place+1:], 10, 64)
	if err != nil || ms <= 0 {
		return state
	}
	head = head[:place+1] + utc(ms).Format(time.RFC3339Nano)
	if scoped {
		head += ": " + scope
	}
	return head
}

// stoppedBackfill is the state in the record of a backfill that was stopped.
const stoppedBackfill = string(series.ActionBackfill) + " of 0"

// StateText returns the state of a job in a record, with instants in a form for people.
func StateText(state string) string {
	if until := PausedUntil(state); until != 0 {
		return "paused until " + utc(until).Format(time.RFC3339)
	}
	if state == stoppedBackfill {
		return "stopped the backfill"
	}
	head, scope, scoped := strings.Cut(state, ": ")
	word, text, _ := strings.Cut(head, " ")
	number, err := strconv.ParseInt(text, 10, 64)
	tick := TickText(utc(number))
	switch {
	case err != nil:
	case word == "cancelled":
		return "cancelled the run of " + tick
	case word == string(series.ActionRun) && scoped:
		return "requested the manual run of " + tick + ": " + scope
	case word == string(series.ActionRun):
		return "requested the manual run of " + tick
	case word == string(series.ActionSkip) && number == 0:
		return "skips no tick"
	case word == string(series.ActionSkip):
		return "skips the tick of " + tick
	}
	return state
}

// PausedUntil returns the end of the pause in the state of a job in a record, Unix ms, or 0 if there
// is none.
func PausedUntil(state string) (ms int64) {
	_, _ = fmt.Sscanf(state, "paused until %d", &ms)
	return ms
}
