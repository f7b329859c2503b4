package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/schedulertest"
	"github.com/cronce/cronce/scheduler/verify"
)

// The function alone: a Run is a value that a test can make.
func TestReportIsOfTheHourBefore(t *testing.T) {
	var got time.Time
	job := Report(func(hour time.Time) error { got = hour; return nil })
	run := &scheduler.Run{Tick: time.Date(2027, 3, 1, 0, 5, 0, 0, time.UTC)}
	if err := job.Func(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2027, 2, 28, 23, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("report of %v, want %v", got, want)
	}
}

// Three nodes, six hours of simulated time, a gateway that refuses the first try of each hour, and
// a node that is killed: six reports, none twice.
func TestOneReportAnHour(t *testing.T) {
	start := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	var hours []string
	refused := map[string]bool{}
	send := func(hour time.Time) error { // runs of the job do not overlap, so neither do calls
		name := hour.Format("15:04")
		if !refused[name] {
			refused[name] = true
			return errors.New("the gateway is down")
		}
		hours = append(hours, name)
		return nil
	}
	schedulertest.Run(t, start, func(c *schedulertest.Cluster) {
		first, _, _ := c.Node(Report(send)), c.Node(Report(send)), c.Node(Report(send))
		c.Advance(3 * time.Hour)
		first.Kill()
		c.Advance(3 * time.Hour)
		c.Want("report", start.Add(5*time.Hour+5*time.Minute), verify.TickRan)
		c.Want("report", start.Add(6*time.Hour+5*time.Minute), verify.TickFuture)
	})
	want := []string{"23:00", "00:00", "01:00", "02:00", "03:00", "04:00"}
	if !slices.Equal(hours, want) {
		t.Errorf("reports of %v, want %v", hours, want)
	}
}

// The node is stopped at every third second of the minutes in which a report is sent. Run returns when the report was sent, and the
// bubble ends with nothing left in it.
func TestStopAtAnyInstant(t *testing.T) {
	for offset := range 40 {
		synctest.Test(t, func(t *testing.T) {
			begun, sent := 0, 0
			send := func(time.Time) error {
				begun++
				time.Sleep(90 * time.Second)
				sent++
				return nil
			}
			node, err := scheduler.New(scheduler.Config{Store: memlock.New(memlock.Options{}), Jobs: []scheduler.Job{Report(send)}, Grace: 2 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- node.Run(ctx) }()
			time.Sleep(5*time.Minute - 10*time.Second + time.Duration(offset)*3*time.Second)
			stop()
			if err := <-done; err != nil || begun != sent {
				t.Errorf("stopped after %d × 3 s: %v, %d reports begun and %d sent", offset, err, begun, sent)
			}
		})
	}
}
