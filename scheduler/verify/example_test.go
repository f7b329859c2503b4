package verify_test

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

func ExampleJob() {
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) int64 { return start.Add(time.Duration(seconds) * time.Second).UnixMilli() }
	journal := series.Journal{
		Key:       "sendSms",
		Revisions: []series.RevisionUse{{Revision: "5f1c", Spec: "0/5 * * * * ?", Zone: "UTC", First: at(0), Last: at(21)}},
		Lines: []series.Line{
			{Verdict: series.VerdictOpened, At: at(0), From: at(0), To: at(0), Revision: "5f1c"},
			{Verdict: series.VerdictRan, At: at(5), From: at(0), To: at(5), Node: "a", Revision: "5f1c", Fence: 101, Attempt: 1, Outcome: "ok"},
			{Verdict: series.VerdictRan, At: at(20), From: at(5), To: at(20), Node: "b", Revision: "5f1c", Fence: 102, Attempt: 1, Outcome: "ok"},
		},
	}
	report := verify.Job(journal, verify.Options{Now: start.Add(21 * time.Second)})
	fmt.Println("due", report.Due, "once", report.Once, "undecided", report.Undecided, "ok", report.OK())
	for _, v := range report.Violations {
		fmt.Println(v)
	}
	// Output:
	// due 4 once 2 undecided 2 ok false
	// I4 2026-01-05T00:00:20.000Z: 2 ticks of spec "0/5 * * * * ?" after 2026-01-05T00:00:05.000Z have no verdict
}

// A judge returns the state of each tick.
func ExampleJudge() {
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) int64 { return start.Add(time.Duration(seconds) * time.Second).UnixMilli() }
	judge := verify.NewJudge(series.Journal{
		Key:       "sendSms",
		Revisions: []series.RevisionUse{{Revision: "5f1c", Spec: "0/5 * * * * ?", Zone: "UTC", First: at(0), Last: at(21)}},
		Lines: []series.Line{
			{Verdict: series.VerdictOpened, At: at(0), From: at(0), To: at(0), Revision: "5f1c"},
			{Verdict: series.VerdictRan, At: at(5), From: at(0), To: at(5), Node: "a", Revision: "5f1c", Fence: 101, Attempt: 1, Outcome: "ok"},
			{Verdict: series.VerdictRan, At: at(20), From: at(5), To: at(20), Between: series.VerdictMissed, Node: "b", Revision: "5f1c", Fence: 102, Attempt: 1, Outcome: "skipped"},
		},
	}, verify.Options{Now: start.Add(21 * time.Second)})
	for _, seconds := range []int{5, 10, 12, 20, 25} {
		state, _ := judge.Tick(time.UnixMilli(at(seconds)))
		fmt.Println(seconds, state)
	}
	// Output:
	// 5 ran
	// 10 missed
	// 12 not a tick
	// 20 skipped
	// 25 future
}

func ExampleSum() {
	reports := []verify.Report{
		{Job: "sendSms", Due: 12, Once: 12},
		{Job: "settle", Due: 2, Once: 1, Missed: map[string]int{series.ReasonDeadline: 1}},
	}
	s := verify.Sum(reports...)
	fmt.Println("jobs", len(s.Jobs), "due", s.Total.Due, "once", s.Total.Once, "missed", s.Total.Missed, "ok", s.OK())
	// Output:
	// jobs 2 due 14 once 13 missed map[deadline:1] ok true
}
