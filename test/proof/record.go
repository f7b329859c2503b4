package proof

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Kind is the kind of a record.
type Kind string

// The kinds of records.
const (
	Start Kind = "start" // a job's function was called
	End   Kind = "end"   // the function is about to return
	Write Kind = "write" // the function wrote to the guarded resource of its job
)

// A Record is one line of the ledger.
type Record struct {
	Kind    Kind   `json:"kind"`
	Job     string `json:"job"`
	Tick    int64  `json:"tick"`          // Unix milliseconds; of a manual run its own instant
	For     int64  `json:"for,omitempty"` // of a run of a backfill: the earlier tick whose work it does
	Fence   int64  `json:"fence"`
	Attempt int    `json:"attempt"`
	Try     int    `json:"try"`
	Node    string `json:"node"`
	Pid     int    `json:"pid"`
	Seq     int64  `json:"seq"`             // numbers the records of a process
	Cause   string `json:"cause,omitempty"` // why the run's context ended, "" if it has not

	At      time.Time `json:"-"` // by the clock of the witness
	Refused bool      `json:"-"` // a write with a fence below the highest seen
}

// Instant returns the record's tick as a time.
func (r *Record) Instant() time.Time { return time.UnixMilli(r.Tick).UTC() }

// attempt identifies a run that may happen at most once.
func (r *Record) attempt() attempt { return attempt{r.Job, r.Tick, r.Attempt} }

type attempt struct {
	job     string
	tick    int64
	attempt int
}

func (a attempt) compare(b attempt) int {
	return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.tick, b.tick), cmp.Compare(a.attempt, b.attempt))
}

// Names of the fields in the ledger's stream.
const (
	fieldRecord  = "record"
	fieldAt      = "us"
	fieldRefused = "refused"
)

// decode reads an entry of the ledger.
func decode(m redis.XMessage) (r Record, err error) {
	text, _ := m.Values[fieldRecord].(string)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("proof: ledger entry %s: %w", m.ID, err)
	}
	at, _ := m.Values[fieldAt].(string)
	us, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return r, fmt.Errorf("proof: ledger entry %s: %w", m.ID, err)
	}
	r.At = time.UnixMicro(us).UTC()
	r.Refused = m.Values[fieldRefused] == "1"
	return r, nil
}
