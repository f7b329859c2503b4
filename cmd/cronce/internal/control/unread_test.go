package control

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A faulty store does not read its states and its nodes. Its clock differs from the machine's clock.
type faulty struct{ clients.Driver }

var (
	errNoRoute = errors.New("no route")
	clock      = time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
)

func newFaulty() *clients.Store {
	return &clients.Store{Config: &config.Config{}, Driver: faulty{}}
}

func (faulty) Explain(error) string { return "" }
func (faulty) Refuses(error) bool   { return false }

func (faulty) Keys(context.Context) ([]string, error) { return []string{"a", "b"}, nil }

func (faulty) ReadSeries(_ context.Context, keys []string) (states []series.Series) {
	for _, key := range keys {
		states = append(states, series.Series{Key: key, Err: errNoRoute})
	}
	return states
}

func (faulty) Journal(context.Context, string, int) (series.Journal, error) {
	return series.Journal{}, nil
}

func (faulty) Members(context.Context) (series.MemberList, error) {
	return series.MemberList{}, errNoRoute
}

func (faulty) Audit(context.Context, string, int) ([]series.AuditRecord, error) {
	return []series.AuditRecord{{Number: 1, Key: "a"}, {Number: 3, Key: "a"}}, nil
}

func (faulty) Now(context.Context) ([]driver.ClockReading, error) {
	return []driver.ClockReading{{Time: clock}}, nil
}

// A state that cannot be read decides nothing: it is not known whether a run has ended, whether a live node has a job, and which
// jobs are retired.
func TestUnreadStateIsDoubt(t *testing.T) {
	s := newFaulty()
	_, ended := settled(t.Context(), s, &series.Control{Key: "a", Number: 1}, time.Hour)
	_, left := unretired(t.Context(), s, []string{"a", "b"})
	for name, err := range map[string]error{"settled": ended, "unretired": left, "unused": unused(t.Context(), s, "a")} {
		if !errors.Is(err, errNoRoute) || exit.Code(err, true) != exit.NotKnown {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Only the doubt about a named operation asks for its repetition.
func TestUnread(t *testing.T) {
	for _, c := range []struct {
		op   string
		err  error
		asks bool
	}{
		{"mine", exit.Doubt(errNoRoute), true},
		{"mine", exit.Usagef("no such job"), false},
		{"mine", exit.With(exit.Refused, errNoRoute), false},
		{"", exit.Doubt(errNoRoute), false},
	} {
		err := (&pauseFlags{op: c.op}).unread(c.err)
		if !errors.Is(err, c.err) || strings.Contains(err.Error(), "repeat the command with --op mine: ") != c.asks {
			t.Errorf("%q, %v: %v", c.op, c.err, err)
		}
	}
}

// The end of a pause is counted from the time of the store.
func TestEndByTheStoresClock(t *testing.T) {
	f := pauseFlags{reason: "for the night", until: "+8h"}
	c := f.request(series.ActionPause)
	if err := f.end(t.Context(), newFaulty(), &c); err != nil || c.Until != clock.Add(8*time.Hour).UnixMilli() {
		t.Errorf("until %v, %v", time.UnixMilli(c.Until).UTC(), err)
	}
}

// The numbers between the records of one job belong to other jobs. Between the records of all jobs none is missing.
func TestGapsInTheAuditOfAJob(t *testing.T) {
	for job, want := range map[string]int{"a": exit.Fine, "": exit.Failed} {
		code := exit.Fine
		if err := (auditFlags{n: 50, job: job}).print(t.Context(), newFaulty(), io.Discard); err != nil {
			code = exit.Code(err, true)
		}
		if code != want {
			t.Errorf("the audit of job %q ends with %d, want %d", job, code, want)
		}
	}
}
