package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// A silentStore does not answer while it is silent.
type silentStore struct {
	*memlock.Store
	silent, nodesSilent bool
}

var errSilent = errors.New("connection refused")

func (s *silentStore) ReadSeries(ctx context.Context, keys []string) []series.Series {
	all := s.Store.ReadSeries(ctx, keys)
	for i := range all {
		if s.silent {
			all[i] = series.Series{Key: keys[i], Err: errSilent}
		}
	}
	return all
}

func (s *silentStore) Members(ctx context.Context) (series.MemberList, error) {
	if s.silent || s.nodesSilent {
		return series.MemberList{}, errSilent
	}
	return s.Store.Members(ctx)
}

func (s *silentStore) Keys(ctx context.Context) ([]string, error) {
	if s.silent {
		return nil, errSilent
	}
	return s.Store.Keys(ctx)
}

// With all nodes dead the metrics have the overdue jobs. While the store is silent, only the metric
// about the store remains: no other could claim that a job is overdue, or fine.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &silentStore{Store: memlock.New(memlock.Options{})}
		open := series.OpenRequest{Key: "report", Node: "web-1", Revision: "r", Spec: "@every 1s", Zone: "UTC"}
		if opened := s.Open(t.Context(), []series.OpenRequest{open})[0]; opened.Err != nil {
			t.Fatal(opened.Err)
		}
		p := ops.New(ops.Options{Store: s, Namespace: "shop"})
		time.Sleep(16 * time.Second)
		p.Refresh(t.Context())
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(New(p))
		want := func(text string, names ...string) {
			t.Helper()
			if err := testutil.GatherAndCompare(registry, strings.NewReader(text), names...); err != nil {
				t.Error(err)
			}
		}
		want(`# HELP cronce_job_overdue Whether a tick of the job is overdue. Absent while that is not known.
# TYPE cronce_job_overdue gauge
cronce_job_overdue{job="report"} 1
# HELP cronce_job_overdue_seconds Time since the deadline of the job's oldest overdue tick, in seconds.
# TYPE cronce_job_overdue_seconds gauge
cronce_job_overdue_seconds{job="report"} 14
# HELP cronce_nodes_alive Live nodes. Absent while that is not known.
# TYPE cronce_nodes_alive gauge
cronce_nodes_alive 0
# HELP cronce_job_starved Whether no tick of the job has ended ok for too long. Absent while that is not known.
# TYPE cronce_job_starved gauge
cronce_job_starved{job="report"} 0
# HELP cronce_job_stuck Whether ticks of the job are skipped because of a run that is too old. Absent while that is not known.
# TYPE cronce_job_stuck gauge
cronce_job_stuck{job="report"} 0
# HELP cronce_overdue_jobs Jobs with an overdue tick. Absent while that is not known.
# TYPE cronce_overdue_jobs gauge
cronce_overdue_jobs 1
# HELP cronce_store_faults Parts of the namespace that cannot be read from a store that answers otherwise. Absent while it does not answer.
# TYPE cronce_store_faults gauge
cronce_store_faults 0
# HELP cronce_store_up Whether the store answers this plane.
# TYPE cronce_store_up gauge
cronce_store_up 1
`, "cronce_job_overdue", "cronce_job_overdue_seconds", "cronce_job_stuck", "cronce_job_starved", "cronce_nodes_alive", "cronce_overdue_jobs", "cronce_store_faults", "cronce_store_up")
		s.silent = true
		p.Refresh(t.Context())
		want(`# HELP cronce_store_up Whether the store answers this plane.
# TYPE cronce_store_up gauge
cronce_store_up 0
`, "cronce_job_overdue", "cronce_job_overdue_seconds", "cronce_job_stuck", "cronce_job_starved", "cronce_nodes_alive", "cronce_overdue_jobs", "cronce_store_faults", "cronce_store_up")
	})
}

// While the list of nodes cannot be read, the metrics have one fault, and no number of nodes.
func TestMetricsOfPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &silentStore{Store: memlock.New(memlock.Options{}), nodesSilent: true}
		open := series.OpenRequest{Key: "report", Node: "web-1", Revision: "r", Spec: "@every 1h", Zone: "UTC"}
		if opened := s.Open(t.Context(), []series.OpenRequest{open})[0]; opened.Err != nil {
			t.Fatal(opened.Err)
		}
		p := ops.New(ops.Options{Store: s, Namespace: "shop"})
		p.Refresh(t.Context())
		if err := testutil.CollectAndCompare(New(p), strings.NewReader(`# HELP cronce_store_faults Parts of the namespace that cannot be read from a store that answers otherwise. Absent while it does not answer.
# TYPE cronce_store_faults gauge
cronce_store_faults 1
# HELP cronce_store_up Whether the store answers this plane.
# TYPE cronce_store_up gauge
cronce_store_up 1
`), "cronce_nodes_alive", "cronce_store_faults", "cronce_store_up"); err != nil {
			t.Error(err)
		}
	})
}

// No node lives, and ten thousand jobs are overdue: the count is whole, and the series of single jobs are
// few.
func TestMetricsOfManyJobs(t *testing.T) {
	const jobs = 10_000
	synctest.Test(t, func(t *testing.T) {
		s := memlock.New(memlock.Options{})
		open := make([]series.OpenRequest, jobs)
		for i := range open {
			open[i] = series.OpenRequest{Key: fmt.Sprintf("job-%05d", i), Node: "web-1", Revision: "r", Spec: "@every 5m", Zone: "UTC"}
		}
		s.Open(t.Context(), open)
		time.Sleep(24 * time.Hour)
		p := ops.New(ops.Options{Store: s, Namespace: "shop"})
		p.Refresh(t.Context())
		families, err := New(p).gather(t)
		if err != nil || families["cronce_overdue_jobs"] != 1 {
			t.Fatal(families, err)
		}
		n := 0
		for _, size := range families {
			n += size
		}
		if n > 2500 || families["cronce_job_overdue"] != mostNamed {
			t.Errorf("%d series: %v", n, families)
		}
	})
}

// gather returns the number of series of each family.
func (c *Collector) gather(t *testing.T) (map[string]int, error) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	sizes := map[string]int{}
	for _, f := range families {
		sizes[f.GetName()] = len(f.GetMetric())
	}
	return sizes, err
}
