package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Runs that end within 5 ms of the first, up to 200, share a request.
func TestGroups(t *testing.T) {
	from := time.Unix(100, 0)
	at := func(ms int) time.Time { return from.Add(time.Duration(ms) * time.Millisecond) }
	e := &endings{nodes: [][]time.Time{
		{at(4), at(0), at(5), at(6), at(-1)}, // two groups, one end before the window
		{at(0)},                              // another node's
		make([]time.Time, 201),
	}}
	for i := range e.nodes[2] {
		e.nodes[2][i] = at(1)
	}
	runs, groups := e.groups(from)
	if runs != 4+1+201 || groups != 2+1+2 {
		t.Errorf("groups = %d runs in %d groups, want 206 in 5", runs, groups)
	}
}

func TestEven(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   bool
	}{
		{[]float64{0.33, 0.33, 0.34}, true}, {[]float64{0.17, 0.4, 0.43}, true},
		{[]float64{0.16, 0.42, 0.42}, false}, {[]float64{0.2, 0.29, 0.51}, false}, {nil, false},
	} {
		if got := even(c.shares); got != c.want {
			t.Errorf("even(%v) = %v", c.shares, got)
		}
	}
}

func TestTableMarksWhatWasMissed(t *testing.T) {
	got := table([]Row{{What: "a", Reach: "b", Measured: "c", Peer: "d"}, {What: "e", OK: true}})
	for _, want := range []string{"| a | b | c | d | **missed** |\n", "| e |  |  |  | reached |\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("table has no line %q:\n%s", want, got)
		}
	}
}

func TestPick(t *testing.T) {
	if all, err := pick(""); err != nil || len(all) != len(suites) {
		t.Errorf("pick of nothing = %d suites, %v, want all", len(all), err)
	}
	if some, err := pick("lock,every"); err != nil || len(some) != 2 || some[0].Name != "lock" {
		t.Errorf("pick(lock,every) = %v, %v", some, err)
	}
	if _, err := pick("lok"); err == nil || !strings.Contains(err.Error(), `"lok"`) {
		t.Errorf("pick(lok) = %v, want an error that names it", err)
	}
}

// Lateness, requests, losses and the standstill are computed from the starts that nodes print.
func TestStarts(t *testing.T) {
	from := time.Unix(100, 0).UTC()
	second := func(n int) time.Time { return from.Add(time.Duration(n) * time.Second) }
	var seen []started
	for n := range 3 {
		for j := range storeJobs {
			seen = append(seen, started{
				Node: j % storeNodes, Job: "job-" + strconv.Itoa(j), Tick: second(n),
				At: second(n).Add(time.Duration(j+1) * time.Millisecond), Sent: int64(10 + 4*n),
			})
		}
	}
	late, sent := quiet(seen, from, second(3))
	if len(late) != 3*storeJobs || late[0] != time.Millisecond || late[len(late)-1] != storeJobs*time.Millisecond || sent != 4 {
		t.Errorf("quiet = %v, %v, want 1 to %d ms, 4 requests per second", late, sent, storeJobs)
	}
	seen[0].Job = seen[1].Job
	if got, want := ticked(seen, from, second(3)), (ticks{3 * storeJobs, 1, 1}); got != want || got.once() {
		t.Errorf("ticked = %v, want %v", got, want)
	}
	if got := standstill(seen, second(1).Add(500*time.Millisecond)); got != 501*time.Millisecond {
		t.Errorf("standstill = %v, want 501ms", got)
	}
}

// A server that cannot be started is an error, and servers that were started before it are ended.
func TestHost(t *testing.T) {
	var dir string
	err := onHost(t.Context(), func(h testing.TB) error {
		dir = h.TempDir()
		h.Skipf("%s is missing", "java")
		return context.Canceled
	})
	if err == nil || err.Error() != "java is missing" {
		t.Errorf("onHost = %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}
