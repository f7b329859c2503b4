package notify

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/internal/outbound"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/ops"
)

// A Target is the receiver of requests.
type Target struct {
	// URL is an http or https URL. It may contain a secret, and is neither logged nor part of an
	// error.
	URL string
	// Secret returns the key that signs the requests of a webhook. It is called before each request.
	// Nil, or a function that returns "": requests are not signed.
	Secret func() string
	// AllowPrivate allows connections to addresses that are not public.
	AllowPrivate bool
}

// Options are the options of a [Notifier]. Projection and Log are required.
type Options struct {
	// Projection and Log are required.
	Projection *ops.Projection
	Log        *slog.Logger
	// Locker elects one of several replicas, which sends the requests of the webhook. While the store
	// does not answer, or refuses the lock, each replica sends them, with the same keys. Nil: each
	// replica sends them.
	Locker *lock.Locker
	// Webhook receives the episodes. Nil: no episode is sent.
	Webhook *Target
	// Heartbeat receives a GET each minute, from each replica, for as long as all is decided. Nil:
	// none is sent.
	Heartbeat *Target
}

// A Notifier sends heartbeats and episodes. Create it with New: the zero Notifier
// cannot be used. It implements [prometheus.Collector].
type Notifier struct {
	o          Options
	webhook    *http.Client
	heartbeat  *http.Client
	alerts     *prometheus.CounterVec
	heartbeats *prometheus.CounterVec

	mu      sync.Mutex // not held during requests
	tracker tracker
	queue   queue
	role    role
}

const (
	settleTime     = 30 * time.Second
	requestTimeout = 10 * time.Second
	heartbeatEvery = time.Minute
	oldest         = time.Minute // age of a snapshot with which a heartbeat may be sent
	maxReply       = 64 << 10    // bytes of a reply that are read
)

// New returns a Notifier. It starts nothing.
func New(o Options) *Notifier {
	counter := func(name, help string, results ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"result"})
		for _, r := range results {
			c.WithLabelValues(r)
		}
		return c
	}
	n := &Notifier{o: o,
		alerts:     counter("cronce_alerts_total", "Requests of the webhook, by result.", sent, failed, dead, standby),
		heartbeats: counter("cronce_heartbeats_total", "Heartbeats to the dead man's switch, by result.", sent, failed, withheld),
		tracker:    tracker{settle: settleTime, open: map[string]*opened{}},
		queue:      queue{wake: make(chan struct{}, 1)}}
	if o.Webhook != nil {
		n.webhook = outbound.NewClient(o.Webhook.AllowPrivate)
	}
	if o.Heartbeat != nil {
		n.heartbeat = outbound.NewClient(o.Heartbeat.AllowPrivate)
	}
	if o.Locker == nil {
		n.role = free
	}
	return n
}

// The results of requests.
const (
	sent     = "sent"
	failed   = "failed"   // a try, after which others follow
	dead     = "dead"     // given up
	standby  = "standby"  // left to another replica
	withheld = "withheld" // a heartbeat, because not all is known to be decided
)

// Describe implements [prometheus.Collector].
func (n *Notifier) Describe(to chan<- *prometheus.Desc) {
	n.alerts.Describe(to)
	n.heartbeats.Describe(to)
}

// Collect implements [prometheus.Collector].
func (n *Notifier) Collect(to chan<- prometheus.Metric) {
	if n.o.Webhook != nil {
		n.alerts.Collect(to)
	}
	if n.o.Heartbeat != nil {
		n.heartbeats.Collect(to)
	}
}

// Run sends heartbeats and episodes until ctx ends. A request that was not answered then is lost.
func (n *Notifier) Run(ctx context.Context) {
	var running sync.WaitGroup
	if n.o.Webhook != nil {
		running.Go(func() { n.watch(ctx) })
		running.Go(func() { n.deliver(ctx) })
		if n.o.Locker != nil {
			running.Go(func() { n.elect(ctx) })
		}
	}
	if n.o.Heartbeat != nil {
		running.Go(func() { n.beat(ctx) })
	}
	running.Wait()
}

// watch queues the events of each snapshot.
func (n *Notifier) watch(ctx context.Context) {
	var seen *ops.Snapshot
	for {
		s, err := n.o.Projection.Await(ctx, seen)
		if err != nil {
			return
		}
		if seen = s; unread(s) {
			continue
		}
		n.mu.Lock()
		now := time.Now()
		lost := n.queue.add(now, n.tracker.next(s, now)...)
		n.mu.Unlock()
		n.drop(lost, "the queue is full")
	}
}

// unread reports whether a snapshot is older than the first reading of the store.
func unread(s *ops.Snapshot) bool { return s.Down != "" && s.DownSince.IsZero() }

// drop logs and counts events that are given up.
func (n *Notifier) drop(events []event, why string) {
	for i := range events {
		n.alerts.WithLabelValues(dead).Inc()
		n.o.Log.Error("alert dropped", slog.String("key", events[i].Key), slog.String("action", events[i].Action), slog.String("reason", why))
	}
}
