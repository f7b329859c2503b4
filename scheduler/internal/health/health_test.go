package health_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/health"
)

var (
	errDown    = errors.New("connection refused by 10.0.0.7:6379")
	errRefused = errors.New("NOPERM")
	start      = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// A step is an answer of a part of the store, or its failure, some seconds after the start.
type step struct {
	at   int
	part health.Part
	err  error
}

// The parts of the tests, in the first partition or in the second.
var (
	claims, claims2   = health.Part{Kind: health.Claims}, health.Part{Partition: 1, Kind: health.Claims}
	peeks, openings   = health.Part{Kind: health.Peeks}, health.Part{Kind: health.Openings}
	ends, nodes, fits = health.Part{Kind: health.Ends}, health.Part{Kind: health.Nodes}, health.Part{Kind: health.Check}
)

// Down returns the parts that are down after a sequence of answers and failures.
func TestDown(t *testing.T) {
	for name, c := range map[string]struct {
		steps []step
		at    int // seconds
		want  []health.Part
	}{
		"all are up at first":                                                      {nil, 0, nil},
		"a part that fails is down":                                                {[]step{{1, claims, errDown}}, 1, []health.Part{claims}},
		"until it has answered for three seconds":                                  {[]step{{1, claims, errDown}, {2, claims, nil}}, 3, []health.Part{claims}},
		"without another failure":                                                  {[]step{{1, claims, errDown}, {2, claims, nil}}, 4, nil},
		"every other request fails: it stays down":                                 {[]step{{1, claims, errDown}, {2, claims, nil}, {3, claims, errDown}, {4, claims, nil}}, 5, []health.Part{claims}},
		"an answer of one partition says nothing of two":                           {[]step{{1, claims2, errDown}, {2, claims, nil}}, 60, []health.Part{claims2}},
		"claims that are answered stand for peeks":                                 {[]step{{1, peeks, errDown}, {2, claims, nil}}, 5, nil},
		"and for openings":                                                         {[]step{{1, openings, errDown}, {2, claims, nil}}, 5, nil},
		"not for peeks that the store refuses":                                     {[]step{{1, peeks, errRefused}, {2, claims, nil}}, 20, []health.Part{peeks}},
		"which stand for themselves":                                               {[]step{{1, peeks, errRefused}, {2, peeks, nil}}, 5, nil},
		"not for ends":                                                             {[]step{{1, ends, errDown}, {2, claims, nil}}, 5, []health.Part{ends}},
		"ends stand for themselves":                                                {[]step{{1, ends, errDown}, {2, ends, nil}}, 5, nil},
		"nor for the list of nodes":                                                {[]step{{1, nodes, errDown}, {2, claims, nil}}, 5, []health.Part{nodes}},
		"any answer stands for the check at the start":                             {[]step{{1, fits, errDown}, {2, nodes, nil}}, 5, nil},
		"peeks stand for nothing else":                                             {[]step{{1, claims, errDown}, {2, peeks, nil}}, 5, []health.Part{claims}},
		"but a failure is forgotten after half a minute, if its partition answers": {[]step{{1, ends, errDown}, {40, claims, nil}}, 40, nil},
		"it is not, if the partition does not answer":                              {[]step{{1, ends, errDown}}, 400, []health.Part{ends}},
		"several are listed by partition and kind":                                 {[]step{{1, ends, errDown}, {1, claims2, errDown}, {1, claims, errDown}}, 1, []health.Part{claims, ends, claims2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := health.New(refuser{}, 2, start)
			for _, s := range c.steps {
				h.Answered(s.part, s.err, start.Add(time.Duration(s.at)*time.Second))
			}
			var got []health.Part
			for _, f := range h.Down(start.Add(time.Duration(c.at) * time.Second)) {
				got = append(got, f.Part)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("down are %v, want %v", got, c.want)
			}
		})
	}
}

// The log has the parts that are down at once, a reminder once a minute, and one line when all are
// back.
func TestReport(t *testing.T) {
	t.Parallel()
	h := health.New(nil, 1, start)
	var got []string
	for s := range 150 {
		now := start.Add(time.Duration(s) * time.Second)
		err := errDown
		if s < 2 || s >= 70 {
			err = nil
		}
		h.Answered(claims, err, now)
		switch down, back := h.Report(now); {
		case back:
			got = append(got, fmt.Sprintf("%ds back", s))
		case len(down) > 0 && !errors.Is(down[0].Err, errDown):
			t.Errorf("the reason is %v", down[0].Err)
		case len(down) > 0:
			got = append(got, fmt.Sprintf("%ds down", s))
		}
	}
	if want := []string{"2s down", "62s down", "72s back"}; !slices.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
}

// The list of nodes failed and claims are answered. The node should then read the list before its
// time, once, and not before the list had three seconds to recover.
func TestEarlyList(t *testing.T) {
	t.Parallel()
	h := health.New(nil, 1, start)
	h.Answered(ends, errDown, start.Add(-time.Second))
	if h.Answered(nodes, errDown, start) {
		t.Error("the list should be asked for right after its failure")
	}
	var got []int
	for s := range 10 {
		if h.Answered(peeks, nil, start.Add(time.Duration(s)*time.Second)) {
			t.Errorf("the list should be asked for early after peeks, at the second %d", s)
		}
		if h.Answered(claims, nil, start.Add(time.Duration(s)*time.Second)) {
			got = append(got, s)
		}
	}
	if !slices.Equal(got, []int{3}) {
		t.Errorf("the list should be asked for early at the seconds %v, want 3", got)
	}
}

// A list that was answered after its failure is not read early.
func TestNoEarlyList(t *testing.T) {
	t.Parallel()
	h := health.New(nil, 1, start)
	h.Answered(nodes, errDown, start)
	h.Answered(nodes, nil, start.Add(time.Second))
	if h.Answered(claims, nil, start.Add(5*time.Second)) {
		t.Error("the list should be asked for early")
	}
}

// The store was reached if it answered, also if the answer is about too few replicas or about one job.
func TestReached(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, fmt.Errorf("claim: %w", &driver.ReplicasError{}), driver.ErrUnreadable, driver.ErrFence} {
		if !health.Reached(err) {
			t.Errorf("%v: the store was not reached", err)
		}
	}
	if health.Reached(errDown) {
		t.Errorf("%v: the store was reached", errDown)
	}
}

// The store's silence is counted from the latest answer of any part. A failure is no answer.
func TestSilence(t *testing.T) {
	t.Parallel()
	h := health.New(nil, 1, start)
	if got := h.Silence(start.Add(time.Second)); got != time.Second {
		t.Errorf("silent for %v before the first answer, want 1s", got)
	}
	h.Answered(peeks, nil, start.Add(5*time.Second))
	h.Answered(claims, errDown, start.Add(7*time.Second))
	if got := h.Silence(start.Add(9 * time.Second)); got != 4*time.Second {
		t.Errorf("silent for %v, want 4s since the latest answer", got)
	}
	h.Answered(claims, nil, start.Add(9*time.Second))
	if got := h.Silence(start.Add(9 * time.Second)); got != 0 {
		t.Errorf("silent for %v right after an answer", got)
	}
}

// A refuser is a store that refuses some requests.
type refuser struct{}

func (refuser) Refuses(err error) bool { return errors.Is(err, errRefused) }

// An explainer is a store that explains one of its errors.
type explainer struct{}

func (explainer) Explain(err error) string {
	if errors.Is(err, errDown) {
		return "the server refuses connections"
	}
	return ""
}

// Name contains no addresses, because its texts are shown to readers without access to the log.
func TestName(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		store      any
		partitions int
		faults     []health.Fault
	}{
		"claims: the server refuses connections":                                           {explainer{}, 1, []health.Fault{{Part: claims, Err: errDown}}},
		"claims: the request failed; the log has the error":                                {nil, 1, []health.Fault{{Part: claims, Err: errDown}}},
		"claims: no answer in time":                                                        {explainer{}, 1, []health.Fault{{Part: claims, Err: context.DeadlineExceeded}}},
		"openings of jobs: the data of the job in the store cannot be read":                {nil, 1, []health.Fault{{Part: openings, Err: fmt.Errorf("job a: %w", driver.ErrUnreadable)}}},
		"claims of partition 2 of 2: no answer in time; the list of nodes of partition 1 ": {nil, 2, []health.Fault{{Part: claims2, Err: context.Canceled}, {Part: nodes, Err: errDown}}},
	} {
		got := health.New(c.store, c.partitions, start).Name(c.faults)
		if !strings.HasPrefix(got, want) || strings.Contains(got, "10.0.0.7") {
			t.Errorf("named as %q, want %q", got, want)
		}
	}
}

// The verb fits the count.
func TestJobs(t *testing.T) {
	for n, want := range map[int]string{1: "1 job has", 2: "2 jobs have"} {
		if got := health.Jobs(n, "has", "have"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A list names five and counts the others.
func TestList(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	for _, c := range []struct {
		names []string
		all   int
		want  string
	}{
		{nil, 0, ""}, {names[:2], 2, "a; b"}, {names[:5], 5, "a; b; c; d; e"},
		{names, 7, "a; b; c; d; e; and 2 more"}, {names[:5], 100, "a; b; c; d; e; and 95 more"},
	} {
		if got := health.List(c.names, c.all); got != c.want {
			t.Errorf("List(%v, %d) = %q, want %q", c.names, c.all, got, c.want)
		}
	}
}
