package ops

import (
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A Snapshot is the state of a namespace at one time. It is immutable.
type Snapshot struct {
	Namespace string
	AsOf      time.Time // the store's clock at the last reading; zero: never read
	Read      time.Time // this process's clock at that time, with its monotonic part
	Down      string    // why the store does not answer; empty: it answers
	DownSince time.Time // this process's clock at the first failure
	Nodes     *NodeList
	Jobs      []*Job   // by name
	Faults    []string // data of the namespace that cannot be read

	suspects bool
	position series.Position // of the changes that the snapshot has; nil: the store cannot tell changes
	wholeAt  time.Time       // when all jobs were read, by this process's clock
	planned  bool            // all jobs were read for no other reason than that wholeEvery had passed
}

// Job returns the job with a name, or nil.
func (s *Snapshot) Job(name string) *Job {
	i, found := find(s.Jobs, name)
	if !found {
		return nil
	}
	return s.Jobs[i]
}

// find returns the place of a job in a list by name.
func find(jobs []*Job, name string) (int, bool) {
	return slices.BinarySearchFunc(jobs, name, func(j *Job, name string) int { return strings.Compare(j.Name, name) })
}

// Suspects reports whether a tick looks overdue and must be probed again, [SecondProbe] later,
// before it is reported as overdue.
func (s *Snapshot) Suspects() bool { return s.suspects }

// Known reports whether the snapshot was read from a store that answers.
func (s *Snapshot) Known() bool { return s.Down == "" && !s.AsOf.IsZero() }

// Now returns the store's clock at its last answer, plus the time since then by this process's
// clock.
func (s *Snapshot) Now() time.Time {
	if s.AsOf.IsZero() {
		return time.Time{}
	}
	return s.AsOf.Add(time.Since(s.Read)).UTC()
}

// LagMs returns the age of the data, in milliseconds.
func (s *Snapshot) LagMs() int64 {
	if s.AsOf.IsZero() {
		return 0
	}
	return time.Since(s.Read).Milliseconds()
}

// Count counts the jobs by their state.
func (s *Snapshot) Count() map[State]int {
	counts := map[State]int{}
	for _, j := range s.Jobs {
		counts[j.State]++
	}
	return counts
}

// Newest returns the newest recorded verdict, or nil.
func (s *Snapshot) Newest() (newest *Run) {
	for _, j := range s.Jobs {
		if r := j.Last(); r != nil && (newest == nil || r.Recorded > newest.Recorded) {
			newest = r
		}
	}
	return newest
}

// Overdue returns the overdue ticks of all jobs, the oldest first.
func (s *Snapshot) Overdue() (all []OverdueTick) {
	for _, j := range s.Jobs {
		all = append(all, j.Overdue...)
	}
	slices.SortStableFunc(all, func(a, b OverdueTick) int { return a.Since.Compare(b.Since) })
	return all
}
