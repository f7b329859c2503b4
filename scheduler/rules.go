package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/text"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// Defaults and bounds of policies.
const (
	defaultAttempts = 3
	defaultWindow   = time.Hour
	defaultWait     = time.Second
	leastDeadline   = time.Second // a shorter deadline gets a remark
)

// rulesOf returns a job's policies with their defaults filled in.
func rulesOf(j *Job) job.Rules {
	r := job.Rules{
		Overlap: series.Overlap(j.Overlap),
		Policy: policy.Record{
			Overlap:  [...]string{policy.Skip, policy.Queue, policy.Allow, policy.Replace}[j.Overlap],
			Misfire:  [...]string{policy.Once, policy.Skip, policy.All}[j.Misfire],
			Deadline: j.Deadline, Jitter: j.Jitter, Timeout: j.Timeout, Limit: j.Limit, Broadcast: j.Broadcast,
		},
		Rerun: j.Takeover == TakeoverRerun, GiveBack: j.Interrupted == InterruptedRerun,
		Attempts: cmp.Or(j.Attempts, defaultAttempts), Window: orDefault(j.Window, defaultWindow),
		Timeout: j.Timeout, Lease: j.Lease, Replicas: j.Replicas, Quiet: j.Quiet,
		Shards: j.Shards, Params: strings.Join(j.ShardParams, "\n"), FailAll: j.ShardFail == FailAll,
	}
	if j.Broadcast { // no other node runs the shard of a node
		r.GiveBack, r.Attempts = false, 1
	}
	wait := orDefault(j.Retry.Wait, defaultWait)
	r.Retry = job.Retry{Tries: j.Retry.Tries, Wait: wait, Max: orDefault(j.Retry.Max, max(time.Minute, wait)),
		Jitter: j.Retry.Jitter, For: j.Retry.For}
	r.Recorded = r.Policy.String()
	return r
}

// faults returns the faults of a job, each with its path.
func (j *Job) faults(path string, zone *time.Location) (s *spec.Schedule, err error) {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s.%s: %s", path, field, fmt.Sprintf(format, args...)))
	}
	if !jobName.MatchString(j.Name) {
		bad("name", "is %s, must be %s", text.Quote(j.Name), jobName)
	}
	if j.Func == nil {
		bad("func", "is nil, a function is needed")
	}
	text, err := j.spec()
	if err == nil {
		s, err = spec.Parse(text, zone)
	}
	if err != nil {
		field := "spec"
		if fault, ok := errors.AsType[*spec.Error](err); ok {
			field = cmp.Or(fault.Limit(), field)
		}
		errs = append(errs, fmt.Errorf("%s.%s: %w", path, field, err))
	}
	j.boundFaults(bad)
	j.policyFaults(bad)
	j.shardFaults(bad)
	j.limitFaults(bad)
	if j.Takeover == TakeoverRerun {
		j.takeoverFaults(bad, s)
	}
	if s != nil && j.Jitter > 0 {
		if least := shortest(s); least > 0 && j.Jitter >= least {
			bad("jitter", "is %v, must be less than the interval of %v", j.Jitter, least)
		}
	}
	return s, errors.Join(errs...)
}

// spec returns the text of the job's spec, with its limits and with H replaced by values.
func (j *Job) spec() (string, error) {
	instant := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339Nano) // the same on all machines
	}
	limits := spec.Limits{At: instant(j.At), NotBefore: instant(j.NotBefore), Until: instant(j.Until), Every: j.Every, Exclude: j.Exclude}
	text, err := limits.Append(j.Spec)
	if err != nil {
		return "", err
	}
	return spec.ForJob(text, j.Name)
}

// boundFaults checks each number on its own.
func (j *Job) boundFaults(bad func(field, format string, args ...any)) {
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"window", j.Window}, {"deadline", j.Deadline}, {"timeout", j.Timeout}, {"jitter", j.Jitter},
		{"retry.wait", j.Retry.Wait}, {"retry.max", j.Retry.Max}, {"retry.for", j.Retry.For}} {
		if d.value < 0 {
			bad(d.field, "is %v, must be 0 or more", d.value)
		}
	}
	if l := j.Lease; l != 0 && (l < driver.MinTTL || l > driver.MaxTTL) {
		bad("lease", "is %v, must be %v to %v", l, driver.MinTTL, driver.MaxTTL)
	}
	if j.Attempts < 0 || j.Attempts > 1000 {
		bad("attempts", "is %d, must be 1 to 1000", j.Attempts)
	}
	if j.Replicas < 0 || j.Replicas > driver.MaxReplicas {
		bad("replicas", "is %d, must be 0 to %d", j.Replicas, driver.MaxReplicas)
	}
	if j.Retry.Tries < 0 || j.Retry.Tries > 1000 {
		bad("retry.tries", "is %d, must be 0 to 1000", j.Retry.Tries)
	}
	if share := j.Retry.Jitter; !(share >= 0 && share <= 1) { // refuses NaN too
		bad("retry.jitter", "is %v, must be 0 to 1: it is a share of the wait", share)
	}
	for _, p := range []struct {
		field       string
		value, last uint8
	}{{"overlap", uint8(j.Overlap), uint8(OverlapReplace)}, {"misfire", uint8(j.Misfire), uint8(MisfireAll)},
		{"takeover", uint8(j.Takeover), uint8(TakeoverRerun)}, {"interrupted", uint8(j.Interrupted), uint8(InterruptedLost)}} {
		if p.value > p.last {
			bad(p.field, "is %d, must be 0 to %d", p.value, p.last)
		}
	}
}

// policyFaults checks for policies that contradict each other.
func (j *Job) policyFaults(bad func(field, format string, args ...any)) {
	if j.Misfire == MisfireAll && (j.Overlap == OverlapQueue || j.Overlap == OverlapReplace) {
		bad("misfire", "all keeps every missed tick, overlap queue and replace keep only the latest: use once, or overlap skip or allow")
	}
	if j.Misfire == MisfireSkip && j.Deadline > 0 {
		bad("deadline", "is %v, but misfire skip never starts a late tick: use misfire once", j.Deadline)
	}
	const again = "but takeover lost and interrupted lost allow no further attempts: set one of them to rerun"
	if once := j.Takeover == TakeoverLost && j.Interrupted == InterruptedLost; once && j.Window > 0 && j.Shards == 0 {
		bad("window", "is %v, %s", j.Window, again)
	} else if once && j.Attempts > 1 {
		bad("attempts", "is %d, %s", j.Attempts, again)
	}
	if wait := orDefault(j.Retry.Wait, defaultWait); j.Retry.Tries > 1 && j.Timeout > 0 && j.Timeout <= wait {
		bad("timeout", "is %v, must be more than retry.wait, %v: it bounds all tries together", j.Timeout, wait)
	}
	if wait := orDefault(j.Retry.Wait, defaultWait); j.Retry.For > 0 && j.Retry.For < wait {
		bad("retry.for", "is %v, must be retry.wait, %v, or more: no second try would begin", j.Retry.For, wait)
	}
	if r := j.Retry; r.Tries <= 1 && (r.Wait > 0 || r.Max > 0 || r.Jitter > 0 || r.For > 0) {
		bad("retry", "waits between tries, but there is only one: set tries")
	}
	if j.Retry.Wait > 0 && j.Retry.Max > 0 && j.Retry.Wait > j.Retry.Max {
		bad("retry.wait", "is %v, must be up to retry.max, %v", j.Retry.Wait, j.Retry.Max)
	}
}

// shardFaults checks how ticks are divided.
func (j *Job) shardFaults(bad func(field, format string, args ...any)) {
	if j.Shards < 0 || j.Shards > series.MaxShards {
		bad("shards", "is %d, must be 1 to %d, or 0 for a job without shards", j.Shards, series.MaxShards)
	}
	if j.ShardFail > FailAll {
		bad("shard_fail", "is %d, must be 0 or 1", j.ShardFail)
	}
	if j.Shards == 0 && (len(j.ShardParams) > 0 || j.ShardFail != FailAny && !j.Broadcast) {
		bad("shards", "is 0, but shard_params or shard_fail is set: they are about shards")
	}
	if j.Broadcast {
		j.broadcastFaults(bad)
	}
	if len(j.ShardParams) > max(j.Shards, 0) && j.Shards != 0 {
		bad("shard_params", "has %d texts, must have at most %d, one for each shard", len(j.ShardParams), j.Shards)
	}
	all := 0
	for i, p := range j.ShardParams {
		if all += len(p); len(p) > series.MaxParam || !driver.Printable(p) {
			bad(fmt.Sprintf("shard_params[%d]", i), "is %s, must be at most %d bytes that print", text.Quote(p), series.MaxParam)
		}
	}
	if all > series.MaxParams {
		bad("shard_params", "has %d bytes, must have at most %d", all, series.MaxParams)
	}
	if (j.Shards > 0 || j.Broadcast) && j.Overlap == OverlapAllow {
		bad("overlap", "is allow, must be skip, queue or replace for a job with shards or a broadcast: one tick is divided at a time")
	}
}

// broadcastFaults checks for settings that a job cannot have which each node runs.
func (j *Job) broadcastFaults(bad func(field, format string, args ...any)) {
	const alone = "but no other node runs the part of a node in a broadcast"
	if j.Shards != 0 {
		bad("shards", "is %d, but a broadcast has a shard for each node: set one of the two", j.Shards)
	}
	if j.Takeover == TakeoverRerun {
		bad("takeover", "is rerun, %s", alone)
	}
	if j.Attempts > 1 {
		bad("attempts", "is %d, %s", j.Attempts, alone)
	}
	if j.Window > 0 {
		bad("window", "is %v, %s: deadline bounds its start", j.Window, alone)
	}
	if j.Misfire == MisfireAll {
		bad("misfire", "is all, must be once or skip for a broadcast")
	}
}

// takeoverFaults checks for settings that keep a tick of a dead node from running again. The
// schedule is nil if the spec has a fault.
func (j *Job) takeoverFaults(bad func(field, format string, args ...any), s *spec.Schedule) {
	if j.Attempts == 1 {
		bad("attempts", "is 1, must be 2 or more under takeover rerun: the first attempt counts")
	}
	rules, window := job.Rules{Lease: j.Lease}, orDefault(j.Window, defaultWindow)
	lease := rules.LeaseOf(0)
	if window <= lease && j.Lease == 0 && s != nil {
		lease = rules.LeaseOf(shortest(s))
	}
	if window <= lease {
		bad("window", "is %v, must be more than the lease of %v under takeover rerun: a dead node keeps its tick for so long", window, lease)
	}
}

// shortest samples the distances between the next ticks and returns the shortest. Distances around
// a change of the zone's clocks count only if there are no others, because a job that is accepted
// today must be accepted in a month too. It returns 0 if fewer than two ticks are left.
func shortest(s *spec.Schedule) time.Duration {
	var least, changing time.Duration
	ms := s.NextMilli(time.Now().UnixMilli())
	if ms == 0 {
		return 0
	}
	for range 60 {
		next := s.NextMilli(ms)
		if next == 0 {
			break
		}
		to := &least
		if changes(s.Zone(), ms) || changes(s.Zone(), next) {
			to = &changing
		}
		if d := time.Duration(next-ms) * time.Millisecond; *to == 0 || d < *to {
			*to = d
		}
		ms = next
	}
	return cmp.Or(least, changing)
}

// changes reports whether the zone's clocks change within a day of an instant.
func changes(zone *time.Location, ms int64) bool {
	at := time.UnixMilli(ms).In(zone)
	_, before := at.Add(-24 * time.Hour).Zone()
	_, after := at.Add(24 * time.Hour).Zone()
	return before != after
}
