package chronos_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds ...float64) (times []time.Time) {
	for _, s := range seconds {
		times = append(times, zero.Add(time.Duration(s*float64(time.Second))))
	}
	return times
}

// Targets are at 0, 10, 20 and so on.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		name               string
		count              int
		epsilon            time.Duration
		begins             []time.Time
		unsatisfied, extra []time.Time
	}{
		{"each begins at its target", 3, 2 * time.Second, at(0, 10, 20), nil, nil},
		{"the ends of a window belong to it", 2, 2 * time.Second, at(2, 10), nil, nil},
		{"no run at all", 2, 2 * time.Second, nil, at(0, 10), nil},
		{"one target has no run", 3, 2 * time.Second, at(0.5, 20.1), at(10), nil},
		{"too late", 2, 2 * time.Second, at(0, 12.5), at(10), at(12.5)},
		{"too early", 2, 2 * time.Second, at(0, 9.5), at(10), at(9.5)},
		{"twice in a window", 2, 2 * time.Second, at(0, 1, 10), nil, at(1)},
		{"after the last window", 1, 2 * time.Second, at(1, 3), nil, at(3)},
		{"in any order", 3, 2 * time.Second, at(20, 0, 10), nil, nil},
		// The windows of 0 and 10 are both open at 12: the first run takes 0, so that the second, at 23, has 10.
		{"overlapping windows", 2, 15 * time.Second, at(12, 23), nil, nil},
		{"two runs after two targets", 2, 15 * time.Second, at(12, 13), nil, nil},
		{"three runs for two targets", 2, 15 * time.Second, at(12, 13, 14), nil, at(14)},
		{"the run of a closed window cannot be exchanged", 3, 15 * time.Second, at(16, 17, 34), at(0), at(17)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plan{job: "j", start: zero, count: c.count, every: 10 * time.Second, epsilon: c.epsilon}
			unsatisfied, extra := match(p, c.begins)
			if !slices.Equal(unsatisfied, c.unsatisfied) || !slices.Equal(extra, c.extra) {
				t.Errorf("unsatisfied %v, extra %v; want %v, %v", unsatisfied, extra, c.unsatisfied, c.extra)
			}
		})
	}
}

// The greedy matching satisfies as many targets as the best of all matchings.
func TestMatchIsTheBest(t *testing.T) {
	for _, epsilon := range []time.Duration{0, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second} {
		p := plan{start: zero, count: 4, every: 10 * time.Second, epsilon: epsilon}
		for set := range 1 << 14 {
			var begins []time.Time
			for i := range 14 { // every 5 s from 10 s before the first target
				if set&(1<<i) != 0 {
					begins = append(begins, zero.Add(time.Duration(i-2)*5*time.Second))
				}
			}
			unsatisfied, extra := match(p, begins)
			if got, want := p.count-len(unsatisfied), best(p, begins, 0, 0); got != want || len(begins)-len(extra) != want {
				t.Fatalf("epsilon %v, begins %v: %d satisfied and %d extra, want %d", epsilon, begins, got, len(extra), want)
			}
		}
	}
}

// best tries all ways to give targets to the begins from i on. taken has a bit for each target that is satisfied.
func best(p plan, begins []time.Time, i, taken int) int {
	if i == len(begins) {
		return 0
	}
	most := best(p, begins, i+1, taken)
	for target := range p.count {
		from := p.target(target)
		if taken&(1<<target) == 0 && !begins[i].Before(from) && !begins[i].After(from.Add(p.epsilon)) {
			most = max(most, 1+best(p, begins, i+1, taken|1<<target))
		}
	}
	return most
}

func TestJudge(t *testing.T) {
	p := plan{job: "j", start: zero, count: 10, every: 10 * time.Second, epsilon: 2 * time.Second}
	ran := func(tick, begin, end float64, attempt int, fence int64) run {
		r := run{job: "j", tick: at(tick)[0], attempt: attempt, fence: fence, node: "h", begin: at(begin)[0]}
		if end > 0 {
			r.end = at(end)[0]
		}
		return r
	}
	first := ran(0, 0, 1, 1, 5)
	fault := []span{{at(8)[0], at(25)[0]}}
	for _, c := range []struct {
		name      string
		runs      []run
		faults    []span
		closed    float64
		want      verdict
		violation string
	}{
		{"as planned", []run{first, ran(10, 10, 11, 1, 6)}, nil, 12, verdict{targets: 2, satisfied: 2, runs: 2}, ""},
		{"an open window is not judged", []run{first}, nil, 11, verdict{targets: 1, satisfied: 1, runs: 1}, ""},
		{"a run of an open window is no extra run", []run{first, ran(10, 10, 0, 1, 6)}, nil, 11, verdict{targets: 1, satisfied: 1, runs: 2}, ""},
		{"silent", []run{first}, nil, 12, verdict{targets: 2, satisfied: 1, runs: 1}, "did not begin"},
		{"silent in a fault", []run{first}, fault, 12, verdict{targets: 2, satisfied: 1, shaken: 1, excused: 1, runs: 1}, ""},
		{"late in a fault", []run{first, ran(10, 13, 14, 1, 6)}, fault, 15, verdict{targets: 2, satisfied: 1, shaken: 1, excused: 1, late: 1, runs: 2}, ""},
		{"late after a fault", []run{first, ran(10, 27.5, 28, 1, 6), ran(20, 20, 21, 1, 7)}, fault, 29,
			verdict{targets: 3, satisfied: 2, shaken: 2, excused: 1, runs: 3}, "no target is left"},
		{"a fault does not excuse what is after it", []run{first}, fault, 32, verdict{targets: 4, satisfied: 1, shaken: 2, excused: 2, runs: 1}, "00:00:30"},
		{"a takeover", []run{first, ran(10, 10, 0, 1, 6), ran(10, 14, 15, 2, 7)}, nil, 16, verdict{targets: 2, satisfied: 2, runs: 2, takeovers: 1}, ""},
		{"an attempt ran twice", []run{first, ran(10, 10, 11, 1, 6), ran(10, 10.5, 11, 1, 7)}, fault, 16,
			verdict{targets: 2, satisfied: 2, shaken: 1, runs: 2, twice: 1}, "ran twice"},
		{"a fence twice", []run{first, ran(10, 10, 11, 1, 6), ran(10, 14, 15, 2, 6)}, fault, 16,
			verdict{targets: 2, satisfied: 2, shaken: 1, runs: 2, twice: 1}, "ran twice"},
		{"two attempts at once", []run{first, ran(10, 10, 14.5, 1, 6), ran(10, 14, 15, 2, 7)}, fault, 16,
			verdict{targets: 2, satisfied: 2, shaken: 1, runs: 2, twice: 1}, "after the begin of attempt 2"},
		{"another job", []run{first, {job: "k"}}, nil, 5, verdict{targets: 1, satisfied: 1, runs: 1}, "no plan has it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judge([]plan{p}, c.runs, c.faults, at(c.closed)[0])
			text := strings.Join(got.violations, "; ")
			if got.violations = nil; !equal(got, &c.want) {
				t.Errorf("%+v, want %+v", *got, c.want)
			}
			if (text == "") != (c.violation == "") || !strings.Contains(text, c.violation) {
				t.Errorf("violations %q, want %q", text, c.violation)
			}
		})
	}
}

func equal(a, b *verdict) bool {
	return [8]int{a.targets, a.satisfied, a.shaken, a.excused, a.late, a.runs, a.takeovers, a.twice} ==
		[8]int{b.targets, b.satisfied, b.shaken, b.excused, b.late, b.runs, b.takeovers, b.twice}
}
