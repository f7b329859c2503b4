package web

import (
	"compress/gzip"
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// A fleet is a store of jobs that are due each five minutes, a part of them each second, and of the nodes that run them.
type fleet struct {
	store *memlock.Store
	now   time.Time
	nodes int
	jobs  []string
	marks []int64
}

const fleetPeriod = 300 // seconds

// newFleet makes a fleet, whose jobs have run some times.
func newFleet(t testing.TB, jobs, nodes, runs int) *fleet {
	f := &fleet{nodes: nodes, now: time.Unix(1_700_000_100, 0), marks: make([]int64, jobs)} // the beginning of a period
	f.store = memlock.New(memlock.Options{Now: func() time.Time { return f.now }, JournalTotal: 4 * jobs * runs})
	var opens []series.OpenRequest
	for i := range jobs {
		f.jobs = append(f.jobs, fmt.Sprintf("job-%05d", i))
		opens = append(opens, series.OpenRequest{Key: f.jobs[i], Node: fmt.Sprintf("node-%02d", i%nodes), Revision: "r",
			Spec: fmt.Sprintf("%d %d/5 * * * *", i%60, i/60%5), Zone: "UTC", Policies: "overlap:skip/misfire:once"})
	}
	for i, a := range f.store.Open(t.Context(), opens) {
		f.marks[i] = a.Mark
	}
	for range runs * fleetPeriod {
		f.second(t)
	}
	return f
}

// second passes, in which each job that is due runs.
func (f *fleet) second(t testing.TB) {
	f.now = f.now.Add(time.Second)
	tick := f.now.UnixMilli()
	phase := int(f.now.Unix() % fleetPeriod)
	var claims []series.Claim
	var ends []series.EndRequest
	for i := range f.jobs {
		if i%fleetPeriod == phase {
			owner := fmt.Sprintf("node-%02d/x", (i+int(f.now.Unix()))%f.nodes)
			claims = append(claims, series.Claim{Key: f.jobs[i], Owner: owner, Number: tick, After: f.marks[i], TTL: 30 * time.Second,
				Deadline: time.Minute, Attempts: 1, Latest: tick + 60_000, Revision: "r"})
			f.marks[i] = tick
		}
	}
	for i, a := range f.store.Claim(t.Context(), claims) {
		if a.Kind != series.KindGranted {
			t.Fatal(a.Kind, a.Err)
		}
		ends = append(ends, series.EndRequest{RunRef: series.RunRef{Key: claims[i].Key, Number: tick, Owner: claims[i].Owner, Fence: a.Fence}, Outcome: series.OutcomeOK, OK: true})
	}
	f.store.ReleaseRuns(t.Context(), ends)
	for i := range f.nodes {
		if _, err := f.store.Beat(t.Context(), series.Beat{Node: fmt.Sprintf("node-%02d", i), TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
}

// A watch is a reader of a page.
type watch struct {
	target string
	sent   sentParts
	z      *gzip.Writer
}

// wireBytes counts the compressed bytes.
type wireBytes int

func (n *wireBytes) Write(b []byte) (int, error) {
	*n += wireBytes(len(b))
	return len(b), nil
}

// BenchmarkLivePages passes a second of 10,000 jobs on 50 nodes: 33 of them run, the projection reads that, and ten streams get the
// parts that changed. A second of such a plane takes the time of an operation.
func BenchmarkLivePages(b *testing.B) {
	f := newFleet(b, 10_000, 50, 12)
	p := ops.New(ops.Options{Store: f.store, Namespace: "shop"})
	p.Refresh(b.Context())
	h, err := New(Options{Projection: p, Store: f.store})
	if err != nil {
		b.Fatal(err)
	}
	r := with(httptest.NewRequest("GET", "/events", nil), access.Caller{ID: "a", Role: access.Operator})
	var watches []*watch
	var wire wireBytes
	pages := []string{"/", "/", "/", "/", "/nodes", "/runs", "/jobs", "/jobs/job-00001", "/jobs/job-00042", "/jobs/job-00001/ticks/" + f.now.Add(-time.Minute).UTC().Format(time.RFC3339)}
	for _, target := range pages {
		z := gzips.Get().(*gzip.Writer)
		z.Reset(&wire)
		watches = append(watches, &watch{target, sentParts{}, z})
	}
	for _, of := range []struct {
		name    string
		watches []*watch
	}{{"none", nil}, {"ten", watches}, {"overview", watches[:1]}, {"nodes", watches[4:5]}, {"runs", watches[5:6]}, {"jobs", watches[6:7]}, {"job", watches[7:8]}, {"tick", watches[9:]}} {
		b.Run(of.name, func(b *testing.B) {
			parts, bytes, before := 0, 0, wire
			for b.Loop() {
				b.StopTimer()
				f.second(b)
				b.StartTimer()
				p.Refresh(context.Background())
				for _, w := range of.watches {
					c := changeOf(p.Peek())
					c.Parts = w.sent.changed(h.live(r, w.target), f.now)
					text := encoded(c)
					parts, bytes = parts+len(c.Parts), bytes+len(text)
					fmt.Fprint(w.z, "event: change\ndata: "+text+"\n\n")
					w.z.Flush()
				}
			}
			b.ReportMetric(float64(parts)/float64(b.N), "parts/op")
			b.ReportMetric(float64(bytes)/float64(b.N), "sent-B/op")
			b.ReportMetric(float64(wire-before)/float64(b.N), "wire-B/op")
		})
	}
}
