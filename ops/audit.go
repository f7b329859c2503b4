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

// parseState returns the parts of the state of a job in a record: the words before its instant, the instant in Unix ms, and the
// text behind it, with its colon. The state "skip 0" has none: no tick is skipped.
func parseState(state string) (words string, ms int64, rest string, ok bool) {
	head, rest := state, ""
	if i := strings.Index(state, ": "); i >= 0 {
		head, rest = state[:i], state[i:]
	}
	i := strings.LastIndex(head, " ")
	if i < 0 || !slices.Contains([]string{"paused until", "cancelled", string(series.ActionRun), string(series.ActionSkip)}, head[:i]) {
		return "", 0, "", false
	}
	ms, err := strconv.ParseInt(head[i+1:], 10, 64)
	return head[:i], ms, rest, err == nil && ms > 0
}

// stateJSON returns the state of a job in a record, with its instant in RFC 3339 in place of Unix ms.
func stateJSON(state string) string {
	words, ms, rest, ok := parseState(state)
	if !ok {
		return state
	}
	return words + " " + utc(ms).Format(time.RFC3339Nano) + rest
}

// StateText returns the state of a job in a record, with instants in a form for people.
func StateText(state string) string {
	switch state {
	case stoppedBackfill:
		return "stopped the backfill"
	case string(series.ActionSkip) + " 0":
		return "skips no tick"
	}
	words, ms, rest, ok := parseState(state)
	if !ok {
		return state
	}
	switch tick := TickText(utc(ms)); words {
	case "cancelled":
		return "cancelled the run of " + tick
	case string(series.ActionRun):
		return "requested the manual run of " + tick + rest
	case string(series.ActionSkip):
		return "skips the tick of " + tick
	}
	return words + " " + utc(ms).Format(time.RFC3339)
}

// stoppedBackfill is the state in the record of a backfill that was stopped.
const stoppedBackfill = string(series.ActionBackfill) + " of 0"

// pausedUntil returns the end of the pause in the state of a job in a record, Unix ms, or 0 if there
// is none.
func pausedUntil(state string) int64 {
	words, ms, _, ok := parseState(state)
	if !ok || words != "paused until" {
		return 0
	}
	return ms
}

// latestText describes the latest change of a job.
func latestText(l *series.Change) string {
	text := fmt.Sprintf("%s by %s at %s", l.Action, l.Who, utc(l.At).Format(time.RFC3339))
	if l.Reason != "" {
		text += ": " + l.Reason
	}
	return text
}

// PauseText describes the operator, the time, the end and the reason of a pause.
func PauseText(p *series.Pause) string {
	text := fmt.Sprintf(", by %s, since %s", p.Who, utc(p.Since).Format(time.RFC3339))
	if p.Until != 0 && !p.Retired() {
		text += " until " + utc(p.Until).Format(time.RFC3339)
	}
	return text + ": " + p.Reason
}
