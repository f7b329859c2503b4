package job_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/policy"
)

// StartWithin adds the jitter to every deadline.
func TestStartWithin(t *testing.T) {
	t.Parallel()
	const jitter = 20 * time.Second
	for name, test := range map[string]struct {
		record   policy.Record
		interval time.Duration
		within   time.Duration
		reason   string
	}{
		"the interval":                        {policy.Record{}, time.Minute, time.Minute, series.ReasonDeadline},
		"a second at least":                   {policy.Record{}, 999 * time.Millisecond, time.Second, series.ReasonDeadline},
		"an hour at most":                     {policy.Record{}, time.Hour + 1, time.Hour, series.ReasonDeadline},
		"as long as it is given":              {policy.Record{Deadline: 2 * time.Hour}, time.Minute, 2 * time.Hour, series.ReasonDeadline},
		"misfire skip: a second":              {policy.Record{Misfire: policy.Skip}, time.Minute, time.Second, series.ReasonMisfire},
		"misfire all: ten intervals":          {policy.Record{Misfire: policy.All}, time.Minute, 10 * time.Minute, series.ReasonDeadline},
		"misfire all: ten seconds at least":   {policy.Record{Misfire: policy.All}, time.Millisecond, 10 * time.Second, series.ReasonDeadline},
		"misfire all: no hour bounds it":      {policy.Record{Misfire: policy.All}, 24 * time.Hour, 240 * time.Hour, series.ReasonDeadline},
		"misfire all, as long as it is given": {policy.Record{Misfire: policy.All, Deadline: time.Hour}, time.Minute, time.Hour, series.ReasonDeadline},
	} {
		for _, j := range []time.Duration{0, jitter} {
			test.record.Jitter = j
			rules := job.Rules{Policy: test.record}
			if within, reason := rules.StartWithin(test.interval); within != test.within+j || reason != test.reason {
				t.Errorf("%s, jitter %v: %v, %s; want %v, %s", name, j, within, reason, test.within+j, test.reason)
			}
		}
	}
}

// By default the lease is the interval, within bounds.
func TestLeaseOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ lease, interval, want time.Duration }{
		{0, time.Second, 3 * time.Second}, {0, 3 * time.Second, 3 * time.Second}, {0, 5 * time.Second, 5 * time.Second},
		{0, 30 * time.Second, 30 * time.Second}, {0, time.Hour, 30 * time.Second}, {0, 0, 30 * time.Second},
		{time.Second, time.Hour, time.Second}, {time.Minute, time.Second, time.Minute},
	} {
		rules := job.Rules{Lease: test.lease}
		if got := rules.LeaseOf(test.interval); got != test.want {
			t.Errorf("lease %v, interval %v: %v, want %v", test.lease, test.interval, got, test.want)
		}
	}
}
