// Package metrics exports a projection to Prometheus. Its metrics describe the whole cluster, and
// each replica of the plane exports all of them: aggregate with max by (job).
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/ops"
)

// If there are more than mostJobs jobs, only overdue, stuck and starved ones have series of their
// own, and of these at most mostNamed.
const (
	mostJobs  = 2000
	mostNamed = 400
)

// A Collector collects a projection. While the store does not answer it omits the metrics of the
// current state. Make one with [New]: the zero Collector cannot be used.
type Collector struct {
	p *ops.Projection

	up, asOf, faults, jobs, overdueJobs, nodes, gone, overdue, overdueSeconds, stuck, starved, success, next, dropped, streams *prometheus.Desc
}

// New returns the collector of a projection.
func New(p *ops.Projection) *Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("cronce_"+name, help, labels, nil)
	}
	return &Collector{
		p:              p,
		up:             desc("store_up", "Whether the store answers this plane."),
		asOf:           desc("plane_lag_seconds", "Age of this plane's data about the store, in seconds."),
		faults:         desc("store_faults", "Parts of the namespace that cannot be read from a store that answers otherwise. Absent while it does not answer."),
		jobs:           desc("jobs", "Recorded jobs, by state.", "state"),
		overdueJobs:    desc("overdue_jobs", "Jobs with an overdue tick. Absent while that is not known."),
		nodes:          desc("nodes_alive", "Live nodes. Absent while that is not known."),
		gone:           desc("nodes_gone", "Nodes that left in the last 24 hours, by reason.", "how"),
		overdue:        desc("job_overdue", "Whether a tick of the job is overdue. Absent while that is not known.", "job"),
		overdueSeconds: desc("job_overdue_seconds", "Time since the deadline of the job's oldest overdue tick, in seconds.", "job"),
		stuck:          desc("job_stuck", "Whether ticks of the job are skipped because of a run that is too old. Absent while that is not known.", "job"),
		starved:        desc("job_starved", "Whether no tick of the job has ended ok for too long. Absent while that is not known.", "job"),
		success:        desc("job_last_success_timestamp_seconds", "The latest tick of the job that ended ok.", "job"),
		next:           desc("job_next_tick_timestamp_seconds", "The next tick of the job.", "job"),
		dropped:        desc("metrics_jobs_dropped", "Jobs without series of their own, because there are too many jobs."),
		streams:        desc("ops_watchers", "Readers that follow the plane's live updates."),
	}
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.up, c.asOf, c.faults, c.jobs, c.overdueJobs, c.nodes, c.gone, c.overdue, c.overdueSeconds, c.stuck, c.starved, c.success, c.next, c.dropped, c.streams} {
		to <- d
	}
}

// Collect implements [prometheus.Collector]. It sends no request to the store; a scrape keeps the
// projection fresh.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := c.p.Snapshot()
	gauge(c.up, number(s.Known()))
	gauge(c.streams, float64(c.p.Watchers()))
	if !s.AsOf.IsZero() {
		gauge(c.asOf, float64(s.LagMs())/1000)
	}
	counts := s.Count()
	for _, state := range ops.JobStates {
		gauge(c.jobs, float64(counts[state]), string(state))
	}
	if !s.Known() {
		return
	}
	gauge(c.faults, float64(len(s.Faults)))
	if s.Nodes.Err() == nil {
		gauge(c.nodes, float64(s.Nodes.Alive()))
		drained := 0
		gone := s.Nodes.Gone()
		for i := range gone {
			if gone[i].Left != 0 {
				drained++
			}
		}
		gauge(c.gone, float64(drained), "drained")
		gauge(c.gone, float64(len(gone)-drained), "silent")
	}
	if counts[ops.Unknown] < len(s.Jobs) {
		gauge(c.overdueJobs, float64(counts[ops.Overdue]))
	}
	dropped, named := 0, 0
	for _, j := range s.Jobs {
		if j.State == ops.Retired {
			continue
		}
		if len(s.Jobs) > mostJobs && (named == mostNamed || j.State != ops.Overdue && j.Stall == (ops.Stall{})) {
			dropped++
			continue
		}
		named++
		c.job(gauge, s, j)
	}
	gauge(c.dropped, float64(dropped))
}

func (c *Collector) job(gauge func(*prometheus.Desc, float64, ...string), s *ops.Snapshot, j *ops.Job) {
	if j.State != ops.Unknown {
		gauge(c.overdue, number(j.State == ops.Overdue), j.Name)
		var longest time.Duration
		for i := range j.Overdue {
			longest = max(longest, j.Overdue[i].Age())
		}
		gauge(c.overdueSeconds, longest.Seconds(), j.Name)
		gauge(c.stuck, number(j.Stall.Stuck != nil), j.Name)
		gauge(c.starved, number(!j.Stall.Starved.IsZero()), j.Name)
	}
	if last := j.LastSuccess(); !last.IsZero() {
		gauge(c.success, float64(last.UnixMilli())/1000, j.Name)
	}
	if next := j.Next(s.AsOf); !next.IsZero() {
		gauge(c.next, float64(next.UnixMilli())/1000, j.Name)
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
