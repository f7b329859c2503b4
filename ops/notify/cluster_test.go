package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/outbound"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// A receiver takes requests, as a server or in place of the network, and records the ones that it
// accepts.
type receiver struct {
	answer func() int // the status; 0: no reply. Nil: 200
	header http.Header

	mu    sync.Mutex
	tries int
	taken []string // action and key, or the User-Agent of a heartbeat
	keys  []string // Idempotency-Key
	texts []string // summaries
}

var errRefused = errors.New("connection refused")

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.WriteHeader(r.take(request))
}

func (r *receiver) RoundTrip(request *http.Request) (*http.Response, error) {
	status := r.take(request)
	if status == 0 {
		return nil, errRefused
	}
	return &http.Response{StatusCode: status, Header: r.header, Body: http.NoBody, Request: request}, nil
}

func (r *receiver) take(request *http.Request) int {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries++
	status := 200
	if r.answer != nil {
		status = r.answer()
	}
	if status != 200 {
		return status
	}
	if request.Method == http.MethodGet {
		r.taken = append(r.taken, request.UserAgent())
		return status
	}
	var e event
	if json.Unmarshal(body, &e) != nil || e.Namespace != "shop" || e.Summary == "" || e.Kind == "" {
		r.taken = append(r.taken, "no event: "+string(body))
	}
	at, _, _ := strings.Cut(strings.TrimPrefix(request.Header.Get("Cronce-Signature"), "t="), ",")
	var seconds int64
	_ = json.Unmarshal([]byte(at), &seconds)
	if request.Header.Get("Cronce-Signature") != outbound.Sign(time.Unix(seconds, 0), body, theSecret) {
		r.taken = append(r.taken, "a wrong signature")
	}
	r.taken, r.keys = append(r.taken, e.Action+" "+e.Key), append(r.keys, request.Header.Get("Idempotency-Key"))
	r.texts = append(r.texts, e.Summary)
	return status
}

func (r *receiver) requests() ([]string, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken), r.tries
}

func (r *receiver) want(t *testing.T, want ...string) {
	t.Helper()
	if got, _ := r.requests(); !slices.Equal(got, want) {
		t.Errorf("the receiver has %q, want %q", got, want)
	}
}

const theSecret = "0123456789abcdef"

// A cluster is a store in memory that can be silent, with a node that can be dead and a job of one
// second.
type cluster struct {
	*memlock.Store
	silent, dead, idle atomic.Bool
	ahead              atomic.Int64 // by how much the store's clock is ahead of this process's
	log                *slog.Logger // of its planes
	logged             bytes.Buffer
}

// lines returns how often the planes have logged a message.
func (s *cluster) lines(message string) int {
	synctest.Wait()
	return strings.Count(s.logged.String(), message)
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	s := &cluster{}
	s.log = slog.New(slog.NewTextHandler(&s.logged, nil))
	s.Store = memlock.New(memlock.Options{Now: s.now})
	s.open(t, "report", "@every 1s")
	return s
}

func (s *cluster) open(t *testing.T, job, spec string) {
	t.Helper()
	o := series.OpenRequest{Key: job, Node: "web-1", Revision: "r", Spec: spec, Zone: "UTC", Policies: "overlap:skip/misfire:skip"}
	if got := s.Open(t.Context(), []series.OpenRequest{o})[0]; got.Err != nil {
		t.Fatal(got.Err)
	}
}

// now is the store's clock.
func (s *cluster) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

func (s *cluster) Keys(ctx context.Context) ([]string, error) {
	if s.silent.Load() {
		return nil, errRefused
	}
	return s.Store.Keys(ctx)
}

func (s *cluster) ReadSeries(ctx context.Context, keys []string) []series.Series {
	all := s.Store.ReadSeries(ctx, keys)
	for i := range all {
		if s.silent.Load() {
			all[i] = series.Series{Key: keys[i], Err: errRefused}
		}
	}
	return all
}

func (s *cluster) Members(ctx context.Context) (series.MemberList, error) {
	if s.silent.Load() {
		return series.MemberList{}, errRefused
	}
	return s.Store.Members(ctx)
}

// work beats, and runs each tick unless the cluster is idle, until ctx ends.
func (s *cluster) work(ctx context.Context, t *testing.T) {
	whole := context.WithoutCancel(ctx) // a tick that has begun is run to its end
	for ctx.Err() == nil {
		if !s.dead.Load() {
			if _, err := s.Beat(whole, series.Beat{Node: "web-1", TTL: 15 * time.Second}); err != nil {
				t.Error(err)
			}
		}
		if !s.dead.Load() && !s.idle.Load() {
			s.tick(whole, t)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// tick runs the tick of this second, and records the ones before it as skipped.
func (s *cluster) tick(ctx context.Context, t *testing.T) { s.end(ctx, t, "report", series.OutcomeOK) }

// end runs the tick of this second of a job to an outcome, and records the ones before it as skipped.
func (s *cluster) end(ctx context.Context, t *testing.T, job, outcome string) {
	before := s.Store.ReadSeries(ctx, []string{job})[0]
	tick := s.now().Truncate(time.Second).UnixMilli()
	if tick <= before.Mark {
		return
	}
	c := series.Claim{Key: job, Owner: "web-1/" + s.now().Format("150405.000"), Number: tick, After: before.Mark, TTL: 10 * time.Second, Deadline: time.Minute,
		Attempts: 1, Latest: tick + 60_000, Revision: "r"}
	a := s.Claim(ctx, []series.Claim{c})[0]
	if a.Kind != series.KindGranted {
		t.Errorf("%v %v", a.Kind, a.Err)
		return
	}
	e := series.EndRequest{RunRef: series.RunRef{Key: job, Number: tick, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL}, Outcome: outcome, OK: outcome == series.OutcomeOK}
	if end := s.ReleaseRuns(ctx, []series.EndRequest{e})[0]; end.Err != nil {
		t.Error(end.Err)
	}
}

// silentLocks are the locks of a store that can be silent.
type silentLocks struct {
	driver.Driver
	silent *atomic.Bool
	asked  atomic.Int32 // how often a silent store was asked for a lock
}

func (s *silentLocks) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if s.silent.Load() {
		s.asked.Add(1)
		return driver.Grant{}, errRefused
	}
	return s.Driver.Acquire(ctx, a)
}

func (s *silentLocks) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	if s.silent.Load() {
		return driver.Grant{}, errRefused
	}
	return s.Driver.Renew(ctx, h)
}

func (s *silentLocks) Release(ctx context.Context, h driver.LeaseRef) error {
	if s.silent.Load() {
		return errRefused
	}
	return s.Driver.Release(ctx, h)
}

// slowLocks are the locks of a store that answers after two seconds, however long the caller waits.
type slowLocks struct {
	driver.Driver
	granted, released atomic.Int32
}

func (s *slowLocks) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	time.Sleep(2 * time.Second)
	g, err := s.Driver.Acquire(context.WithoutCancel(ctx), a)
	if err == nil {
		s.granted.Add(1)
	}
	return g, err
}

func (s *slowLocks) Release(ctx context.Context, h driver.LeaseRef) error {
	err := s.Driver.Release(ctx, h)
	if err == nil {
		s.released.Add(1)
	}
	return err
}

// A replica is a plane of a cluster.
type replica struct {
	*Notifier
	stop func()
}

// replica starts a plane with a locker that may be nil, and receivers that may be nil.
func (s *cluster) replica(t *testing.T, locker *lock.Locker, webhook, heartbeat http.RoundTripper) *replica {
	p := ops.New(ops.Options{Store: s, Namespace: "shop"})
	o := Options{Projection: p, Log: s.log, Locker: locker}
	if webhook != nil {
		o.Webhook = &Target{URL: "https://hook.example/token", Secret: func() string { return theSecret }}
	}
	if heartbeat != nil {
		o.Heartbeat = &Target{URL: "https://beat.example/token"}
	}
	r := &replica{Notifier: New(o)}
	if webhook != nil {
		r.webhook.Transport = webhook
	}
	if heartbeat != nil {
		r.heartbeat.Transport = heartbeat
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	running.Go(func() { r.Run(ctx) })
	r.stop = sync.OnceFunc(func() { stop(); running.Wait() })
	return r
}

// bubble runs a test in simulated time, with a cluster that works until it ends.
func bubble(t *testing.T, f func(t *testing.T, s *cluster)) {
	synctest.Test(t, func(t *testing.T) {
		s := newCluster(t)
		ctx, stop := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer stop()
		go s.work(ctx, t)
		synctest.Wait() // the node lives before a plane reads the store
		f(t, s)
	})
}
