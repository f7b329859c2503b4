package sms

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// A State is the state of a message.
type State string

// The states.
const (
	Queued State = "queued" // it waits until it is due
	Taken  State = "taken"  // a run has it
	Sent   State = "sent"   // the gateway accepted it
	Failed State = "failed" // it will not be sent; Record.Reason says why

	Expired State = "expired" // it will not be sent: Message.Until is over
	Broken  State = "broken"  // it cannot be read, and was put aside or will be; Record.Reason says why
)

// states are all states, in the order in which List shows them.
var states = []State{Queued, Taken, Failed, Broken, Expired, Sent}

// parseState reads a state's name. Its error is a *FieldError.
func parseState(s string) (State, error) {
	for _, state := range states {
		if s == string(state) {
			return state, nil
		}
	}
	return "", &FieldError{"state", quote(s), "queued, taken, failed, broken, expired or sent"}
}

// A Record is a message and its state. Its times are by the store's clock. If the state is Broken, only
// Message.ID and Reason are valid.
type Record struct {
	Message  Message
	State    State
	Due      time.Time // when it may be sent, or sent again
	Attempts int       // runs that tried to send it
	Sends    int       // requests that were, or may have been, accepted; more than 1 may mean a repeat
	Fence    int64     // fence of the last run that took it; 0: none
	Run      string    // id of that run
	Changed  time.Time // when the state last changed
	Reason   string    // why it failed or is tried again; for a sent message, the reason of its receipt
}

// String returns a line for logs: the recipient is masked, the text left out.
func (r Record) String() string { return r.Message.String() + ", " + string(r.State) }

// GoString returns the same as String, so that %#v shows no recipient either.
func (r Record) GoString() string { return r.String() }

// LogValue returns the record for a log, with a masked recipient and without its text.
func (r Record) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("message", r.Message), slog.String("state", string(r.State)), slog.Int("attempts", r.Attempts))
}

// A status is the part of a record that changes, with a number that identifies the latest taking of
// the message.
type status struct {
	Record
	take int64
}

// parseStatus parses a status line: state, takes, attempts, sends, fence, changed, due, run,
// reason.
func parseStatus(line string) (status, error) {
	parts := strings.SplitN(line, " ", 9)
	if line == "" {
		return status{}, errors.New("the status is missing")
	}
	if len(parts) != 9 {
		return status{}, fmt.Errorf("the status has %d parts, want 9", len(parts))
	}
	state, err := parseState(parts[0])
	if err != nil {
		return status{}, err
	}
	var numbers [6]int64
	for i := range numbers {
		if numbers[i], err = strconv.ParseInt(parts[i+1], 10, 64); err != nil {
			return status{}, fmt.Errorf("part %d of the status is no number", i+2)
		}
	}
	run := parts[7]
	if run == "-" {
		run = ""
	}
	return status{take: numbers[0], Record: Record{
		State: state, Attempts: int(numbers[1]), Sends: int(numbers[2]), Fence: numbers[3],
		Changed: time.UnixMilli(numbers[4]).UTC(), Due: time.UnixMilli(numbers[5]).UTC(),
		Run: run, Reason: parts[8],
	}}, nil
}

// parseRecords parses id, body, status, id, …
func parseRecords(flat []string) ([]status, error) {
	if len(flat)%3 != 0 {
		return nil, fmt.Errorf("%d values in an answer of triples", len(flat))
	}
	records := make([]status, 0, len(flat)/3)
	for i := 0; i < len(flat); i += 3 {
		records = append(records, parseRecord(flat[i], flat[i+1], flat[i+2]))
	}
	return records, nil
}

// parseRecord parses one message. An unreadable message is Broken, and does not stop the others.
func parseRecord(id, body, line string) status {
	s, err := parseStatus(line)
	if err == nil {
		s.Message, err = decode(id, body)
	}
	if err == nil {
		err = s.Message.Validate()
	}
	if err != nil {
		s.State, s.Reason = Broken, strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	s.Reason = clean(s.Reason, s.Message.To) // a receipt's reason may contain the recipient
	s.Message.ID = id
	return s
}
