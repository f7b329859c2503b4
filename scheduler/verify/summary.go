package verify

import "slices"

// A Summary has the reports of several jobs and their total.
type Summary struct {
	Jobs []Report `json:"jobs"`
	// Total is the sum of the jobs. Its Begins is the latest of theirs, from where on all jobs are
	// proven. Its Job, Mark, SeenOn and Seen are zero, and its Late, Violations and Faults are empty: these
	// are in Jobs.
	Total Report `json:"total"`
}

// Sum adds reports up, in their order. Without reports it returns the zero Summary.
func Sum(reports ...Report) Summary {
	s := Summary{Jobs: slices.Clone(reports)}
	if len(reports) > 0 {
		s.Total.Complete = true
	}
	for i := range reports {
		s.Total.add(&reports[i])
	}
	return s
}

// OK reports whether every job is [Report.OK].
func (s *Summary) OK() bool {
	return !slices.ContainsFunc(s.Jobs, func(r Report) bool { return !r.OK() })
}

// Sound reports whether every job is [Report.Sound].
func (s *Summary) Sound() bool {
	return !slices.ContainsFunc(s.Jobs, func(r Report) bool { return !r.Sound() })
}

// Broken returns the number of violations of one invariant in all jobs.
func (s *Summary) Broken(invariant string) (n int) {
	for i := range s.Jobs {
		n += s.Jobs[i].Broken(invariant)
	}
	return n
}

func (r *Report) add(o *Report) {
	if o.Begins.After(r.Begins) {
		r.Begins = o.Begins
	}
	r.Complete = r.Complete && o.Complete
	r.TooEarly = r.TooEarly || o.TooEarly
	from := o.counts()
	for i, n := range r.counts() {
		*n += *from[i]
	}
	r.Skipped = addAll(r.Skipped, o.Skipped)
	r.Missed = addAll(r.Missed, o.Missed)
	r.Outcomes = addAll(r.Outcomes, o.Outcomes)
	r.Manual = addAll(r.Manual, o.Manual)
}

// counts returns the numbers of a report that Sum adds up.
func (r *Report) counts() []*int {
	return []*int{
		&r.Due, &r.Once, &r.Again, &r.Running, &r.Waiting, &r.Superseded, &r.Paused, &r.Lost,
		&r.PassedOver, &r.Undecided, &r.Overdue, &r.Unknown, &r.Failed, &r.TakenOver, &r.GivenBack, &r.Unstarted, &r.Overlapped, &r.RerunShards,
	}
}

func addAll(to, from map[string]int) map[string]int {
	for key, n := range from {
		to = count(to, key, n)
	}
	return to
}

// count adds n to the value of a key. It makes the map if needed.
func count(m map[string]int, key string, n int) map[string]int {
	if n == 0 {
		return m
	}
	if m == nil {
		m = map[string]int{}
	}
	m[key] += n
	return m
}
