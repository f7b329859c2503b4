// Package metrics measures a node for Prometheus. It is apart from package scheduler, so that
// a program without it does not build the client of Prometheus.
//
//	m := metrics.New()
//	node, err := scheduler.New(scheduler.Config{Observers: []scheduler.Observer{m}, ...})
//	prometheus.MustRegister(m)
//
// No label holds a job, a tick, a run or a node: the number of series does not grow with them.
// deploy/prometheus/node.rules.yaml has alerts on these metrics.
package metrics

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/spec"
)

// Metrics are a scheduler.Observer and a prometheus.Collector for one node, which is the one that
// has them among its Config.Observers. A scrape of those that no node has is an error. Make them
// with New: the zero Metrics cannot be used. They are safe for concurrent use.
type Metrics struct {
	node atomic.Pointer[scheduler.Node]

	runs, divided, missed, skipped, storeEvents                     *prometheus.CounterVec
	takeovers, tries, late, lost, clockSteps, unreplicated, dropped prometheus.Counter
	lateness, duration                                              prometheus.Histogram

	ready, alive, slots, ignoring, offset, claims, requests, renewals, linesLost, outputsLost *prometheus.Desc
}

// New returns metrics that have measured nothing.
func New() *Metrics {
	m := &Metrics{
		runs:         counters("runs_total", "Runs of this node that have ended, by their outcome.", "outcome"),
		divided:      counters("sharded_ticks_total", "Ticks of jobs with shards whose last shard this node settled, by their outcome.", "outcome"),
		missed:       counters("ticks_missed_total", "Ticks that this node recorded as missed or lost.", "reason"),
		skipped:      counters("ticks_skipped_total", "Ticks that this node recorded as skipped, superseded or paused.", "reason"),
		storeEvents:  counters("store_events_total", "Events of the store that this node has noticed: unreachable, forgot, risk, and others.", "event"),
		takeovers:    counter("takeovers_total", "Runs of this node with attempt 2 or later."),
		tries:        counter("tries_failed_total", "Tries that failed, after which the run went on."),
		late:         counter("renewals_late_total", "Runs whose lease was not renewed for two thirds of its time."),
		lost:         counter("leases_lost_total", "Runs of this node whose lease was lost."),
		clockSteps:   counter("clock_steps_total", "Steps of the store's clock that this node has noticed."),
		unreplicated: counter("claims_unreplicated_total", "Claims that too few replicas have confirmed."),
		dropped:      counter("events_dropped_total", "Events that are missing in these metrics, because there were too many at once."),
		lateness:     histogram("start_lateness_seconds", "From the tick to the start of its run, on the store's clock.", .001, .005, .01, .025, .1, .5, 1, 10),
		duration:     histogram("run_duration_seconds", "For how long the job's function ran.", .01, .1, .5, 1, 5, 30, 300, 3600),

		ready:       desc("node_ready", "Whether all parts of the store answer this node, and its timetable moves."),
		alive:       desc("runs_alive", "Runs of this node that have not ended."),
		slots:       desc("slots", "How many runs this node has at once; +Inf: there is no bound."),
		ignoring:    desc("run_ignores_context", "Runs that go on although their context ended some time ago."),
		offset:      desc("clock_offset_seconds", "How far this machine's clock is ahead of the store's; absent while that is not known."),
		claims:      desc("claims_total", "Claims of this node, by the store's answer; doubt: there was none.", "answer"),
		outputsLost: desc("outputs_lost_total", "Outputs of this node's runs that the store was not known to keep."),
		linesLost:   desc("log_lines_lost_total", "Lines that are missing in the log of this node, because its handler was too slow for them or failed."),
		requests:    desc("store_request_seconds", "How long this node's requests to the store took; result doubt: the store did not answer.", "op", "result"),
		renewals:    desc("renewals_total", "Renewals of leases of this node's runs: renewed, lost, or doubt if the store did not answer.", "result"),
	}
	m.begin()
	return m
}

// begin lets the series of known labels begin at 0: Prometheus computes no increase from a
// series that begins at 1.
func (m *Metrics) begin() {
	for _, outcome := range []string{"ok", "skipped", "failed", "panic", "timeout", "lost", "replaced", "cancelled", "interrupted"} {
		m.runs.WithLabelValues(outcome)
	}
	for _, outcome := range []string{"ok", "failed", "lost", "cancelled"} {
		m.divided.WithLabelValues(outcome)
	}
	for _, reason := range []string{"deadline", "misfire", "lost", "respecified"} {
		m.missed.WithLabelValues(reason)
	}
	for _, reason := range []string{"overlap", "superseded", "paused", "operator"} {
		m.skipped.WithLabelValues(reason)
	}
	for _, kind := range storeEvents {
		m.storeEvents.WithLabelValues(string(kind))
	}
}

// storeEvents are the kinds that are counted as events of the store.
var storeEvents = []scheduler.EventKind{
	scheduler.EventStoreUnreachable, scheduler.EventStoreForgot, scheduler.EventStoreRisk, scheduler.EventMarkAhead,
	scheduler.EventFenceAhead, scheduler.EventJobsNotOpen, scheduler.EventSpecsDiffer, scheduler.EventClockUnsteady,
}

const namespace = "cronce"

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counters(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label})
}

// histogram returns a histogram with these buckets, and with native ones beside them for a
// Prometheus that takes those.
func histogram(name, help string, buckets ...float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
	})
}

// Watch sets the node whose Stats are collected. It is for scheduler.New, and fails for a second
// node.
func (m *Metrics) Watch(n *scheduler.Node) error {
	if !m.node.CompareAndSwap(nil, n) {
		return errors.New("metrics: another node has them, each needs its own")
	}
	return nil
}

// Observe counts an event.
func (m *Metrics) Observe(e scheduler.Event) {
	m.dropped.Add(float64(e.Dropped))
	switch e.Kind {
	case scheduler.EventRunStarted:
		if !spec.Manual(e.Tick.UnixMilli()) { // the other runs are late from their tick on
			m.lateness.Observe(max(e.Late, 0).Seconds())
		}
		if e.Attempt > 1 {
			m.takeovers.Inc()
		}
	case scheduler.EventRunFinished:
		m.duration.Observe(e.Took.Seconds())
		m.runs.WithLabelValues(e.Outcome).Inc()
	case scheduler.EventTickFinished:
		m.divided.WithLabelValues(e.Outcome).Inc()
	case scheduler.EventTryFailed:
		m.tries.Inc()
	case scheduler.EventRenewalLate:
		m.late.Inc()
	case scheduler.EventLeaseLost:
		m.lost.Inc()
	case scheduler.EventTickMissed:
		m.missed.WithLabelValues(e.Reason).Add(float64(e.Count))
	case scheduler.EventTickSkipped:
		m.skipped.WithLabelValues(e.Reason).Inc()
	case scheduler.EventUnreplicated:
		m.unreplicated.Inc()
	case scheduler.EventClockStepped:
		m.clockSteps.Inc()
	default:
		if slices.Contains(storeEvents, e.Kind) {
			m.storeEvents.WithLabelValues(string(e.Kind)).Inc()
		}
	}
}
