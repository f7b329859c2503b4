package notify

import (
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ops"
)

// Actions of events.
const (
	trigger = "trigger"
	resolve = "resolve"
)

// An event is the begin or the end of an episode.
type event struct {
	Action string `json:"action"`
	episode
}

// A tracker finds the begins and ends of episodes in a sequence of snapshots. Time is an argument:
// this process's clock, which measures how long an episode lasts, and is part of no key.
type tracker struct {
	settle  time.Duration // an episode is triggered after this time
	open    map[string]*opened
	started bool // a snapshot knew the state of everything: an episode that is not open begins later than this tracker
}

// An opened episode is in the latest snapshot, or that one does not show its end.
type opened struct {
	episode
	first     time.Time // when it was first seen
	triggered bool
	inherited bool // an earlier process may have triggered it
	left      bool // the trigger was left to another replica
}

// next returns the events that follow from a snapshot, the resolves first.
func (t *tracker) next(s *ops.Snapshot, now time.Time) (events []event) {
	present := map[string]bool{}
	for _, e := range episodesOf(s) {
		present[e.Key] = true
		if o := t.open[e.Key]; o == nil {
			crowd := e.Job != "" && present[e.Namespace+"/"+e.Kind] // not a resolve for each of many jobs
			t.open[e.Key] = &opened{episode: e, first: now, inherited: !t.started && !crowd}
		} else {
			e.Since = o.Since // as in the trigger, so that each repetition of it has one key
			o.episode = e
		}
	}
	t.started = t.started || s.Known() && len(s.Faults) == 0 && !s.Suspects()
	keys := slices.Sorted(maps.Keys(t.open))
	for _, key := range keys {
		o := t.open[key]
		if present[key] || mayLast(s, &o.episode) {
			continue
		}
		if delete(t.open, key); o.triggered || o.inherited {
			events = append(events, event{resolve, o.episode})
		}
	}
	for _, key := range keys {
		o := t.open[key]
		if present[key] && !o.triggered && !o.part && now.Sub(o.first) >= t.settle {
			o.triggered = true
			events = append(events, event{trigger, o.episode})
		}
	}
	return events
}

// mayLast reports whether an episode may last although it is not in a snapshot, which does not know
// the state of its subject.
func mayLast(s *ops.Snapshot, e *episode) bool {
	switch {
	case e.Kind == kindStore:
		return false
	case !s.Known():
		return true
	case e.Kind == kindOverdue && s.Suspects(): // after an outage of the store, its tick is probed again
		return true
	case e.Kind == kindFleet:
		return s.Nodes.Err() != nil
	case e.Kind == kindUnknown:
		return false
	case e.Job == "": // it stands for several jobs
		return slices.ContainsFunc(s.Jobs, func(j *ops.Job) bool { return j.State == ops.Unknown })
	}
	j := s.Job(e.Job)
	return j != nil && j.State == ops.Unknown
}

// leave notes events that another replica sends. An episode that has not lasted yet has no trigger among them: one with its key
// belongs to an earlier episode.
func (t *tracker) leave(events []event) {
	for i := range events {
		if o := t.open[events[i].Key]; o != nil && o.triggered && events[i].Action == trigger {
			o.left = true
		}
	}
}

// taken returns the triggers of the open episodes that were left to another replica, which may not
// have sent them.
func (t *tracker) taken() (events []event) {
	for _, key := range slices.Sorted(maps.Keys(t.open)) {
		if o := t.open[key]; o.left {
			o.left = false
			events = append(events, event{trigger, o.episode})
		}
	}
	return events
}
