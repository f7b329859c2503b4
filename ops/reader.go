package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/series"
)

const (
	keysEvery  = 30 * time.Second // between two readings of the list of jobs
	keysAnyway = 10 * time.Minute // the same while the store names the jobs that are new: to list them, a store reads all states
	linesEvery = 5 * time.Minute  // after which a journal is read again although the state has not changed
	abreast    = 8                // number of journals that are read at once
	atOnce     = 200              // number of jobs whose journals are held at once
	leastLines = 6                // the least number of lines of a journal that are kept
	mostLines  = 60

	lastTimeout = 2 * time.Second // for the states of the jobs whose lines were read
)

// A reader reads the store for a projection. Only one refresh at a time may use it.
type reader struct {
	o      Options
	keys   []string
	keysAt time.Time
	words  words
}

// read makes the next snapshot, based on the last one.
func (r *reader) read(ctx context.Context, last *Snapshot) *Snapshot {
	next := &Snapshot{Namespace: r.o.Namespace}
	members, err := r.o.Store.Members(ctx)
	next.Nodes = NewNodeList(members, err)
	changed, part := r.changed(ctx, next, last)
	var silent error
	var states []series.Series
	if part {
		states = r.readPart(ctx, last, changed, members.Now)
	} else {
		states, silent = r.readWhole(ctx, next, last)
	}
	if err != nil {
		next.Faults = append(next.Faults, "which nodes live is not known: "+r.explain(err))
		silent = err
	}
	if silent != nil && !slices.ContainsFunc(states, func(s series.Series) bool { return s.Err == nil }) {
		return r.down(last, silent)
	}
	next.Read, next.AsOf = time.Now(), utc(members.Now)
	next.Jobs = r.jobs(ctx, next, last, states, changed)
	if part {
		next.Jobs = merged(last.Jobs, next.Jobs)
	}
	r.review(next)
	if len(next.Jobs) > 0 && !slices.ContainsFunc(next.Jobs, (*Job).current) {
		return r.down(last, next.Jobs[0].Series.Err)
	}
	if next.AsOf.IsZero() {
		for _, j := range next.Jobs {
			next.AsOf = utc(j.Series.Now)
		}
	}
	return next
}

// readWhole returns the states of all jobs. If one has none, it may be gone, so the list of jobs is read again.
func (r *reader) readWhole(ctx context.Context, next, last *Snapshot) (states []series.Series, err error) {
	listed := r.keysAt
	err = r.list(ctx, next, last)
	states = r.o.Store.ReadSeries(ctx, r.keys)
	if r.keysAt.Equal(listed) && next.planned && slices.ContainsFunc(states, forgotten) {
		r.keysAt = time.Time{}
		if err = r.list(ctx, next, last); err == nil {
			states = r.o.Store.ReadSeries(ctx, r.keys)
		}
	}
	if err == nil {
		next.wholeAt = time.Now()
	}
	return states, err
}

// list reads the list of jobs, unless it was read lately.
func (r *reader) list(ctx context.Context, next, last *Snapshot) error {
	every := keysEvery
	if next.planned {
		every = keysAnyway
	}
	if len(r.keys) > 0 && time.Since(r.keysAt) <= every && last.Down == "" {
		return nil
	}
	keys, err := r.o.Store.Keys(ctx)
	if err != nil { // the jobs of a silent partition still exist
		next.Faults = append(next.Faults, "not all jobs are known: "+r.explain(err))
		r.keys = slices.Compact(slices.Sorted(slices.Values(append(keys, r.keys...))))
		return err
	}
	r.keys, r.keysAt = keys, time.Now()
	return nil
}

// forgotten reports whether the store has no state of a job.
func forgotten(s series.Series) bool { return s.Mark == 0 && s.Err == nil }

// down returns the last snapshot with the state of each job unknown.
func (r *reader) down(last *Snapshot, err error) *Snapshot {
	next := *last
	next.Down = r.explain(err)
	if last.DownSince.IsZero() {
		next.DownSince = time.Now()
	}
	next.Nodes = NewNodeList(series.MemberList{}, err)
	next.Faults = nil
	next.Jobs = make([]*Job, len(last.Jobs))
	for i, j := range last.Jobs {
		next.Jobs[i] = unknownJob(j.Name, j, "the store does not answer: "+next.Down)
	}
	return &next
}

func (r *reader) explain(err error) string {
	if r.o.Explain != nil {
		if text := r.o.Explain(err); text != "" {
			return text
		}
	}
	return err.Error()
}

// jobs makes the jobs of a snapshot from their states. It reads the journals of the jobs that have
// changed, those with the oldest reading first: jobs for which there is no time come first in the
// next refresh.
func (r *reader) jobs(ctx context.Context, next, last *Snapshot, states []series.Series, changed map[string]bool) []*Job {
	jobs := make([]*Job, len(states))
	var stale []int
	readAt := make([]int64, len(states))
	for i := range states {
		s, before := &states[i], last.Job(states[i].Key)
		if before != nil {
			readAt[i] = before.read
		}
		switch {
		case s.Err != nil:
			jobs[i] = r.kept(s.Key, before, s.Err, changed[s.Key])
		case readAt[i] == 0 || changed[s.Key] || before.changed(s) || s.Now-before.read > linesEvery.Milliseconds():
			stale = append(stale, i)
		default:
			jobs[i] = before.at(*s, next.Nodes)
		}
	}
	slices.SortStableFunc(stale, func(a, b int) int { return cmp.Compare(readAt[a], readAt[b]) })
	r.readLines(ctx, next, last, states, stale, jobs)
	slices.SortFunc(jobs, byName)
	return jobs
}

func byName(a, b *Job) int { return strings.Compare(a.Name, b.Name) }

// review finds the jobs of a snapshot that are suspected, or that could not be read.
func (r *reader) review(next *Snapshot) {
	behind := map[string]int{}
	for _, j := range next.Jobs {
		next.suspects = next.suspects || !j.suspected.IsZero()
		if j.Series.Err != nil && j.State != Unknown {
			behind[r.explain(j.Series.Err)]++
		}
	}
	for _, text := range slices.Sorted(maps.Keys(behind)) {
		next.Faults = append(next.Faults, fmt.Sprintf("%s could not be read, shown as known before: %s", plural(behind[text], "job"), text))
	}
}

// kept returns a job that cannot be read now, with the state and age of its last reading. If it was
// never read, its state is unknown. If unread is set, its journal must be read next time: a change may be
// in there alone.
func (r *reader) kept(name string, before *Job, err error, unread bool) *Job {
	var job *Job
	if before == nil || before.State == Unknown {
		job = unknownJob(name, before, r.explain(err))
	} else {
		job = new(*before)
	}
	if job.Series.Err = err; unread {
		job.read = 0
	}
	return job
}

// readLines reads the newest lines of some jobs, and then their states once more, because a state
// must be younger than the lines. It holds the journals of a few jobs at a time, since all journals together may be very long.
func (r *reader) readLines(ctx context.Context, next, last *Snapshot, states []series.Series, which []int, jobs []*Job) {
	share := r.o.Lines / max(len(states), len(last.Jobs), 1)
	lines := min(max(share, leastLines), mostLines)
	most := mostOlder
	if last.older() > r.o.Lines/4 {
		most = min(max(share-lines, series.MostExceptions(lines)), mostOlder)
	}
	for some := range slices.Chunk(which, atOnce) {
		r.readSome(ctx, next, last, states, some, jobs, lines, most)
	}
}

// readSome reads the newest lines of each of some jobs, and at most so many exceptions that are older.
func (r *reader) readSome(ctx context.Context, next, last *Snapshot, states []series.Series, which []int, jobs []*Job, lines, most int) {
	journals, errs := make([]series.Journal, len(which)), make([]error, len(which))
	work := make(chan int)
	var reading sync.WaitGroup
	for range min(abreast, len(which)) {
		reading.Go(func() {
			for k := range work {
				if errs[k] = errNoTime; ctx.Err() == nil {
					key, n := states[which[k]].Key, lines
					before := last.Job(key)
					if wholeNext(before) {
						n = 0
					}
					journals[k], errs[k] = r.journal(ctx, key, before, n)
				}
			}
		})
	}
	for k := range which {
		work <- k
	}
	close(work)
	reading.Wait()
	var read []int
	var keys []string
	for k, i := range which {
		if errs[k] != nil {
			jobs[i] = r.kept(states[i].Key, last.Job(states[i].Key), fmt.Errorf("ops: %w", errs[k]), true)
			continue
		}
		read, keys = append(read, k), append(keys, states[i].Key)
	}
	if len(keys) == 0 {
		return
	}
	// This request has a timeout of its own, so that the answers so far are not lost if the time of
	// the refresh is over.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer stop()
	for n, s := range r.o.Store.ReadSeries(ctx, keys) {
		i, before := which[read[n]], last.Job(s.Key)
		if s.Err != nil {
			jobs[i] = r.kept(s.Key, before, fmt.Errorf("ops: %w", s.Err), true)
			continue
		}
		r.words.in(&journals[read[n]])
		newest := newestOf(journals[read[n]], kept(lines, before, &journals[read[n]]))
		job := newJob(r.o.Namespace, newest, s, next.Nodes, before)
		if wholeNext(before) {
			job.older = olderOf(r.o.Namespace, job, &journals[read[n]], most)
		} else {
			job.older = olderAfter(before, job, most)
		}
		job.latest = job.recorded()
		jobs[i] = job
	}
}

var errNoTime = errors.New("the refresh had no time left for it")
