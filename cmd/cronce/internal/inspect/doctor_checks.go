package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// Topics that only doctor has.
const (
	topicLatency    = "latency"
	topicClock      = "clock"
	topicNamespaces = "namespaces"
	topicMarks      = "marks"
)

const (
	pings       = 10
	slowStore   = 50 * time.Millisecond
	clockWarn   = 500 * time.Millisecond
	maxMarks    = 10 // the most jobs that are named; the rest is counted
	stateBatch  = 200
	letRead     = "let the user read the keys of the namespace"
	syncClocks  = "synchronise both with NTP; ticks follow the server's clock, so nothing runs twice or is missed by this"
	howToRewind = "wait until the server's clock has caught up, or rewind: stop all nodes of the namespace, delete the job's state and journal, " +
		"start the nodes (docs/redis.md)"
)

// checkOther checks a store other than Redis.
func (s inspector) checkOther(ctx context.Context) ([]redislock.Finding, error) {
	risks, err := s.Driver.CheckStore(ctx)
	switch {
	case errors.Is(err, lock.ErrUnfit) && !s.Driver.Refuses(err):
		return []redislock.Finding{{Level: redislock.LevelRefuse, Topic: redislock.TopicConnection, Text: s.Config.StoreName() + " is not fit: " + err.Error()}}, err
	case err != nil:
		err = s.Failed(err)
		return []redislock.Finding{{Level: redislock.LevelRefuse, Topic: redislock.TopicConnection, Text: err.Error(), Fix: "check the address, the network and the rights of the user"}}, err
	}
	findings := []redislock.Finding{{Level: redislock.LevelOK, Topic: redislock.TopicConnection, Text: s.Config.StoreName() + " answers and is fit"}}
	for _, r := range risks {
		findings = append(findings, redislock.Finding{Level: redislock.LevelWarn, Topic: r.Topic, Server: r.Server, Text: r.Text, Fix: r.Fix})
	}
	return findings, nil
}

// probeRights sends another request to the store, to find out whether it refuses the user.
func (s inspector) probeRights(ctx context.Context) error {
	if s.Client == nil {
		return nil
	}
	return s.Client.Ping(ctx).Err()
}

// latency measures round trips, and the error of this machine's clock with them.
func (s inspector) latency(ctx context.Context) []redislock.Finding {
	trips := map[string][]driver.ClockReading{}
	for range pings {
		readings, err := s.Driver.Now(ctx)
		if err != nil {
			return []redislock.Finding{{Level: redislock.LevelRefuse, Topic: topicLatency, Text: "the server stopped answering: " + err.Error(),
				Fix: "check the network and the server's log"}}
		}
		for _, r := range readings {
			trips[r.Server] = append(trips[r.Server], r)
		}
	}
	var findings []redislock.Finding
	for server, readings := range trips {
		slices.SortFunc(readings, func(a, b driver.ClockReading) int { return int(trip(a) - trip(b)) })
		findings = append(findings, latencyOf(server, readings), clockOf(server, readings[0]))
	}
	slices.SortStableFunc(findings, func(a, b redislock.Finding) int { return strings.Compare(a.Server, b.Server) })
	return findings
}

func trip(r driver.ClockReading) time.Duration { return r.Received.Sub(r.Sent) }

func latencyOf(server string, sorted []driver.ClockReading) redislock.Finding {
	middle, most := trip(sorted[len(sorted)/2]), trip(sorted[len(sorted)-1])
	f := redislock.Finding{Topic: topicLatency, Server: server,
		Text: fmt.Sprintf("a round trip takes %s, the longest of %d took %s", shortly(middle), len(sorted), shortly(most))}
	if middle > slowStore {
		f.Level = redislock.LevelWarn
		f.Fix = "bring nodes and server closer together: each tick waits for one round trip"
	}
	return f
}

// clockOf judges the clock by the shortest round trip: half of it bounds the error.
func clockOf(server string, r driver.ClockReading) redislock.Finding {
	offset := r.Sent.Add(trip(r) / 2).Round(0).Sub(r.Time)
	f := redislock.Finding{Topic: topicClock, Server: server, Text: "this machine's clock agrees with the server's"}
	if offset.Abs() > trip(r)/2+time.Millisecond {
		f.Text = fmt.Sprintf("this machine's clock is %s %s the server's", shortly(offset.Abs()), aheadOf(offset))
	}
	if offset.Abs() > clockWarn {
		f.Level = redislock.LevelWarn
		f.Fix = syncClocks
	}
	return f
}

func aheadOf(offset time.Duration) string {
	if offset > 0 {
		return "ahead of"
	}
	return "behind"
}

// shortly formats a duration with about three digits.
func shortly(d time.Duration) string {
	return terminal.Milliseconds(fmt.Sprint(float64(d.Microseconds()) / 1000))
}

// namespaces lists the other namespaces that use the server.
func (s inspector) namespaces(ctx context.Context) redislock.Finding {
	found, more, err := s.RedisNamespaces(ctx)
	if err != nil {
		return redislock.Finding{Level: redislock.LevelWarn, Topic: topicNamespaces, Text: "the server does not report which are in use: " + err.Error(),
			Fix: "let the user ask SCAN, or make sure that no other application uses " + strictyaml.Quote(s.Config.Namespace)}
	}
	var parts []string
	for _, n := range found {
		part := fmt.Sprintf("%s (%s, %s)", n.Name, terminal.Plural(n.Series, "job"), terminal.Plural(n.Locks, "lock"))
		if n.Name == s.Config.Namespace {
			part = "this one, " + part
		}
		parts = append(parts, part)
	}
	f := redislock.Finding{Topic: topicNamespaces, Text: "in use: " + strings.Join(parts, ", ")}
	if len(parts) == 0 {
		f.Text = "none is in use"
	}
	if more {
		f.Text += ", and maybe more: there are many keys"
	}
	return f
}

// marks finds jobs whose marks are in the future of the store's clock: they cannot run.
func (s inspector) marks(ctx context.Context, d *diagnosis) {
	jobs, err := s.Driver.Keys(ctx)
	if err != nil {
		d.cannot(redislock.Finding{Topic: topicMarks, Text: err.Error(), Fix: letRead}, err)
	}
	if err != nil && len(jobs) == 0 {
		return
	}
	var ahead []redislock.Finding
	unread := 0
	for batch := range slices.Chunk(jobs, stateBatch) {
		for _, state := range s.states(ctx, batch) {
			switch f, ok := markOf(state); {
			case state.Err != nil:
				if unread++; unread > maxMarks {
					d.without(state.Err)
				} else {
					d.cannot(f, state.Err)
				}
			case ok:
				ahead = append(ahead, f)
			}
		}
	}
	switch more := unread - maxMarks; {
	case more > 0:
		d.findings = append(d.findings, redislock.Finding{Level: redislock.LevelRefuse, Topic: topicMarks, Text: fmt.Sprintf("nor can the states of %s be read", terminal.Plural(more, "more job"))})
	case len(ahead)+unread == 0:
		d.add(redislock.Finding{Topic: topicMarks, Text: fmt.Sprintf("no tick of the future is decided (%s)", terminal.Plural(len(jobs), "job"))})
	}
	d.add(fewer(ahead)...)
}

// states reads the states of jobs. For one key that the user may not read, the server refuses the
// whole request. In this case states reads each job separately.
func (s inspector) states(ctx context.Context, jobs []string) []series.Series {
	states := s.Front().ReadSeries(ctx, jobs)
	if len(jobs) == 1 || !slices.ContainsFunc(states, func(s series.Series) bool { return s.Err != nil && exit.RefusedByStore(s.Err) }) {
		return states
	}
	for i, job := range jobs {
		states[i] = s.Front().ReadSeries(ctx, []string{job})[0]
	}
	return states
}

// fewer keeps the first findings and counts the rest.
func fewer(ahead []redislock.Finding) []redislock.Finding {
	n := len(ahead) - maxMarks
	if n <= 0 {
		return ahead
	}
	return append(ahead[:maxMarks], redislock.Finding{Level: redislock.LevelRefuse, Topic: topicMarks,
		Text: fmt.Sprintf("and %d more jobs", n), Fix: howToRewind})
}

func markOf(state series.Series) (redislock.Finding, bool) {
	f := redislock.Finding{Level: redislock.LevelRefuse, Topic: topicMarks}
	if state.Err != nil {
		f.Text = fmt.Sprintf("the state of job %s cannot be read: %v", strictyaml.Quote(state.Key), state.Err)
		f.Fix = "see docs/redis.md for the contents of its key"
		return f, true
	}
	ahead := time.Duration(state.Mark-state.Now) * time.Millisecond
	if ahead <= series.Tolerance*time.Millisecond {
		return f, false
	}
	f.Text = fmt.Sprintf("job %s is decided until %s, %s from the server's now: it does not run until then",
		strictyaml.Quote(state.Key), terminal.UTC(state.Mark).Format(time.RFC3339), ahead.Round(time.Second))
	f.Fix = howToRewind
	return f, true
}
