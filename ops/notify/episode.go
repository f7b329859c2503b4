package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ops"
)

// The kinds of episodes.
const (
	kindStore   = "store"   // the store, or a part of it, does not answer, or has no job
	kindFleet   = "fleet"   // no node lives
	kindUnknown = "unknown" // the data of a job cannot be read
	kindOverdue = "overdue"
	kindStuck   = "stuck"
	kindFailed  = "failed" // a tick failed, was lost or was missed
	kindStarved = "starved"
)

// kinds has the kind of an episode for the state of a job. The other states need no person.
var kinds = map[ops.State]string{ops.Unknown: kindUnknown, ops.Overdue: kindOverdue, ops.Stuck: kindStuck, ops.Lost: kindFailed, ops.Failing: kindFailed,
	ops.Missed: kindFailed, ops.Starved: kindStarved}

// many is the number of jobs with episodes of one kind from which on one episode stands for all of
// them.
const many = 20

// An episode is a time in which a person is needed, for one reason.
type episode struct {
	// Key is constant while the episode lasts, and the same in each replica of the plane, also after a
	// restart: namespace/kind/job, or namespace/kind for the namespace. The next episode of the same
	// kind and job has it again.
	Key       string    `json:"key"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Job       string    `json:"job,omitempty"`
	Since     time.Time `json:"since,omitzero"` // by the store's clock; zero: the store does not record it, or it is of several jobs
	Summary   string    `json:"summary"`
	Next      string    `json:"next_step,omitempty"`

	part bool // another episode stands for it: it is not triggered
}

// idempotencyKey returns the key of a request. Two episodes with one Key have different ones if the
// store records since when each of them lasts.
func (e *episode) idempotencyKey(action string) string {
	key := e.Key + "/" + action
	if !e.Since.IsZero() {
		key += "/" + e.Since.UTC().Format(time.RFC3339Nano)
	}
	return key
}

// episodesOf returns the episodes of a snapshot. It derives them from the snapshot alone.
func episodesOf(s *ops.Snapshot) (all []episode) {
	needs := s.Status().Needs
	fleet, store, count := false, false, map[string]int{}
	for i := range needs {
		n := &needs[i]
		switch kind := kinds[n.State]; {
		case n.Job == "" && kind == kindOverdue:
			fleet = true
			all = append(all, ofNamespace(s, kindFleet, gone(s), n))
		case n.Job == "" && !store: // the needs of a store that answers in part are one episode
			store = true
			all = append(all, ofNamespace(s, kindStore, time.Time{}, n))
		case n.Job != "" && kind != "":
			j := s.Job(n.Job)
			e := episode{Kind: kind, Namespace: s.Namespace, Job: n.Job, Since: since(j, n), Summary: n.Text, Next: n.Next}
			e.Key = strings.Join([]string{s.Namespace, kind, n.Job}, "/")
			e.part = kind == kindUnknown && j.Series.Err != nil && store || kind == kindOverdue && fleet
			all = append(all, e)
			count[kind]++
		}
	}
	for kind, n := range count {
		if n >= many {
			all = append(all, together(s, kind, all))
		}
	}
	slices.SortStableFunc(all, func(a, b episode) int { return strings.Compare(a.Key, b.Key) })
	return all
}

func ofNamespace(s *ops.Snapshot, kind string, since time.Time, n *ops.Need) episode {
	return episode{Key: s.Namespace + "/" + kind, Kind: kind, Namespace: s.Namespace, Since: since, Summary: n.Text, Next: n.Next}
}

// gone returns when the last node was seen; zero: the store does not record it.
func gone(s *ops.Snapshot) time.Time {
	if gone := s.Nodes.Gone(); len(gone) > 0 {
		return s.Nodes.Seen(gone[0].Node)
	}
	return time.Time{}
}

// since returns the instant since when an episode of a job lasts, as the store records it.
func since(j *ops.Job, n *ops.Need) time.Time {
	switch kinds[n.State] {
	case kindOverdue:
		return j.Overdue[0].Tick
	case kindStuck:
		return n.Tick
	case kindStarved:
		return j.Stall.Starved
	case kindFailed:
		return lastSuccess(j, n.Tick)
	}
	return time.Time{}
}

// lastSuccess returns the latest tick before a failed one that ended ok; zero: there is none. It
// does not change while later ticks fail, unless the lines in memory do not reach back to it.
func lastSuccess(j *ops.Job, failed time.Time) time.Time {
	later := false
	for i := range j.Runs {
		switch r := &j.Runs[i]; {
		case r.State != ops.OK:
		case r.Tick.Time().Before(failed):
			return r.Tick.Time()
		default:
			later = true
		}
	}
	if later { // the series records a later one
		return failed
	}
	return unixMilli(j.Series.Last)
}

func unixMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// together returns the episode that stands for the episodes of one kind, and marks these as its
// parts.
func together(s *ops.Snapshot, kind string, all []episode) episode {
	var names []string
	part := true
	for i := range all {
		if e := &all[i]; e.Kind == kind {
			names = append(names, e.Job)
			part, e.part = part && e.part, true
		}
	}
	text := fmt.Sprintf("%d jobs are %s: %s and %d more", len(names), kind, strings.Join(names[:many-1], ", "), len(names)-many+1)
	return episode{Key: s.Namespace + "/" + kind, Kind: kind, Namespace: s.Namespace, Summary: text, Next: "cronce status", part: part}
}

// beatable returns why no heartbeat may be sent; empty: all is decided.
func beatable(s *ops.Snapshot) string {
	if s.Known() && time.Since(s.Read) > oldest {
		return fmt.Sprintf("the latest answer of the store is %s old", ops.Short(time.Since(s.Read)))
	}
	for _, e := range episodesOf(s) {
		switch e.Kind {
		case kindStore, kindFleet, kindUnknown, kindOverdue:
			return e.Summary
		}
	}
	if s.Suspects() {
		return "a tick looks overdue, and is probed again"
	}
	return ""
}
