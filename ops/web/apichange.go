package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// keyHeader is the header with the operation of a request.
const keyHeader = "Idempotency-Key"

// A changeRequest is the body of a request that changes a job. The tag of has the actions that a field
// belongs to; without it these are all.
type changeRequest struct {
	Reason string `json:"reason"`
	Until  string `json:"until" of:"pause run"`        // how long from now, or an instant
	Seen   *int64 `json:"seen" of:"pause resume skip"` // the change that the caller has read; nil: any

	Queue  bool `json:"queue" of:"run"`                 // it may wait for an alive run
	Anyway bool `json:"while_paused" of:"run backfill"` // it may start in a pause
	Dry    bool `json:"dry_run" of:"run backfill"`      // only the answer is wanted
	Back   bool `json:"back" of:"skip"`                 // it is taken back

	From   string `json:"from" of:"backfill"` // the first and the last instant of its ticks
	To     string `json:"to" of:"backfill"`
	Only   string `json:"only" of:"backfill"`   // which ticks
	Room   string `json:"room" of:"backfill"`   // how long a run may take
	Digest string `json:"digest" of:"backfill"` // of the plan that the caller has seen
}

// A changeAnswer is the answer to a request that found or brought a job into the requested state.
type changeAnswer struct {
	Outcome ops.Outcome `json:"outcome"`
	Change  int64       `json:"change"` // the change that was made; if none was, the latest one
	Text    string      `json:"text,omitempty"`
	Tick    time.Time   `json:"tick,omitzero"`  // of the requested run
	Plan    *ops.Plan   `json:"plan,omitempty"` // of a backfill
	Job     ops.JobView `json:"job"`
}

// A latest is the change that came before a request.
type latest struct {
	Change int64         `json:"change"`
	Action series.Action `json:"action"`
	Who    string        `json:"who"`
	Reason string        `json:"reason,omitempty"`
	At     time.Time     `json:"at"`
}

// apiChange changes a job for a program.
func (h *Handler) apiChange(action series.Action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		request, status, fault := h.requestOf(r, action)
		known := h.o.Projection.Snapshot().Job(request.Key) != nil
		// A request that is refused without a reading of the store is no change. A plan may judge as many ticks as a backfill has.
		change := known && fault == "" && (!request.Dry || action == series.ActionBackfill)
		if h.limited(w, r, false, callerOf(r), change) {
			return
		}
		_, j := h.job(w, r)
		if j == nil {
			return
		}
		if fault != "" {
			problem(w, r, status, "invalid", fault)
			return
		}
		a := h.change(r.Context(), request)
		status, kind, text := statusOf(&a)
		if kind != "" {
			faulty(w, changeFault(&a, status, kind, text))
			return
		}
		n := a.Change
		if n == 0 {
			n = a.Series.Change
		}
		s := h.fresh(r.Context(), j.Name, a.Series.Change)
		if now := s.Job(j.Name); now != nil {
			j = now
		}
		given := changeAnswer{Outcome: a.Outcome, Change: n, Text: a.Text, Plan: a.Plan, Job: s.View(j, false)}
		if a.Number != 0 {
			given.Tick = time.UnixMilli(a.Number).UTC()
		}
		answer(w, given)
	}
}

// requestOf reads the request of a program. It returns a status and a sentence about a bad one.
func (h *Handler) requestOf(r *http.Request, action series.Action) (request ops.Request, status int, fault string) {
	request.Key = r.PathValue("job")
	body, status, fault := bodyOf(r, action)
	if fault != "" {
		return request, status, fault
	}
	x := wish{Action: action, Tick: r.PathValue("tick"), Op: r.Header.Get(keyHeader), Reason: body.Reason, Until: body.Until, Seen: series.AnySeen,
		Queue: body.Queue, Anyway: body.Anyway, Dry: body.Dry, Back: body.Back,
		First: body.From, Last: body.To, Only: body.Only, Room: body.Room, Digest: body.Digest, Stop: stops(r)}
	if body.Seen != nil {
		x.Seen = *body.Seen
	}
	if fault = x.misplaced(); fault == "" {
		request, fault = x.request(callerOf(r), request.Key, h.o.Projection.Snapshot().Now())
	}
	if rest, ok := strings.CutPrefix(fault, "op is "); ok { // a program names it in a header
		fault = "the header " + keyHeader + " is " + rest
	}
	return request, http.StatusBadRequest, fault
}

// changeFault returns the problem of a change that was not made, or that may not have been made.
func changeFault(a *ops.Change, status int, kind, text string) fault {
	f := faultOf(status, kind, text)
	switch kind {
	case "doubt":
		f.Key = a.Request.Op
	case string(ops.RefusedPlan):
		f.Plan = a.Plan
	case "changed":
		f.Latest = &latest{a.Series.Change, a.Latest.Action, a.Latest.Who, a.Latest.Reason, time.UnixMilli(a.Latest.At).UTC()}
	}
	return f
}

// misplaced returns a sentence about a field that has no effect in the action.
func (x *wish) misplaced() string {
	switch {
	case x.Action != series.ActionRun && x.Queue:
		return "queue belongs to a run"
	case x.Action != series.ActionRun && (x.Action != series.ActionBackfill || x.Stop) && (x.Anyway || x.Dry):
		return "while_paused and dry_run belong to a run or a backfill"
	case (x.Action != series.ActionBackfill || x.Stop) && x.First+x.Last+x.Only+x.Room+x.Digest != "":
		return "from, to, only, room and digest belong to a backfill"
	case x.Action != series.ActionPause && x.Action != series.ActionRun && x.Until != "":
		return "until belongs to a pause or a run"
	case x.Action != series.ActionSkip && x.Back:
		return "back belongs to a skip"
	case x.Action == series.ActionBackfill && !x.Stop && !x.Dry && x.Digest == "":
		return "digest is missing: the answer to the same request with dry_run has it, in its plan"
	}
	return ""
}

// bodyOf reads the body of a request. It returns a status and a sentence about a bad one.
func bodyOf(r *http.Request, action series.Action) (body changeRequest, status int, fault string) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return body, http.StatusUnsupportedMediaType, "the Content-Type must be application/json"
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(&body)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errFollowed
		}
	}
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return body, http.StatusRequestEntityTooLarge, "the body must have 64 KiB at most"
	}
	if err != nil {
		return body, http.StatusBadRequest, bodyFault(err, bodyFields(action, stops(r)))
	}
	if body.Seen != nil && *body.Seen < 0 {
		return body, http.StatusBadRequest, seenFault(strconv.FormatInt(*body.Seen, 10))
	}
	return body, 0, ""
}

var errFollowed = errors.New("something follows the object")

// bodyFault returns a sentence about a body that cannot be decoded, in words of JSON. The names are
// the fields that it may have.
func bodyFault(err error, names []string) string {
	const must = "the body must be a JSON object"
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		given, _, _ := strings.Cut(e.Value, " ")
		if e.Field == "" {
			return must + ", and is " + article(given)
		}
		return fmt.Sprintf("%s is %s, must be %s", e.Field, article(e.Value), wanted(e.Type))
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("%s: it is no JSON at byte %d", must, e.Offset)
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok { // package json has no type for it
		return fmt.Sprintf("the field %s is not known: allowed are %s", clip(name), strings.Join(names, ", "))
	}
	switch {
	case errors.Is(err, io.EOF):
		return must + ", and is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return must + ", and ends too early"
	case errors.Is(err, errFollowed):
		return must + ": " + err.Error()
	}
	return must + ", and could not be read"
}

// article returns the name of a JSON value with its article. Package json calls a number that does not
// fit by its digits, too.
func article(value string) string {
	switch kind, digits, _ := strings.Cut(value, " "); {
	case digits != "":
		return "the number " + clip(digits)
	case kind == "array" || kind == "object":
		return "an " + kind
	case kind == "bool":
		return "true or false"
	default:
		return "a " + kind
	}
}

// wanted returns the JSON value that a field of a Go type takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int64:
		return "a whole number"
	default:
		return "a string"
	}
}

// bodyFields returns the names of the fields of a body that belong to an action.
func bodyFields(action series.Action, stop bool) []string {
	var names []string
	for f := range reflect.TypeFor[changeRequest]().Fields() {
		if of, some := f.Tag.Lookup("of"); !some || !stop && slices.Contains(strings.Fields(of), string(action)) {
			names = append(names, f.Tag.Get("json"))
		}
	}
	return names
}
