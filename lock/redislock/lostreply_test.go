package redislock_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// A cutter passes connections on to a server. When a test asks for it, it waits for
// the server's next reply and cuts the connection instead of passing it on.
type cutter struct {
	net.Listener
	server string
	cut    atomic.Bool
	first  atomic.Int64 // so many replies are passed on before
	before func()       // it cuts a connection; nil: nothing is done
	wg     sync.WaitGroup
}

func newCutter(t *testing.T, server string) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &cutter{Listener: l, server: server}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		_ = l.Close()
		p.wg.Wait()
	})
	return p
}

func (p *cutter) serve() {
	for {
		in, err := p.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.wg.Go(func() {
			defer out.Close()
			_, _ = io.Copy(out, in) // ends when either side is closed
		})
		p.wg.Go(func() {
			defer in.Close()
			p.replies(in, out)
		})
	}
}

func (p *cutter) replies(in, out net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		if err != nil {
			return
		}
		if p.cut.Load() && p.first.Add(-1) < 0 && p.cut.CompareAndSwap(true, false) {
			if p.before != nil {
				p.before()
			}
			return
		}
		if _, err := in.Write(buf[:n]); err != nil {
			return
		}
	}
}

// A request was carried out and its reply was lost: the caller is in doubt, repeats the request,
// and gets the same grant, with the same fence.
func TestLostReply(t *testing.T) {
	s := redisserver.Start(t)
	p := newCutter(t, s.Addr())
	c := client(t, p.Addr().String())
	d := newDriver(t, c, redislock.Options{})
	due := open(t, d, c, "job", "warm")
	direct := newDriver(t, client(t, s.Addr()), redislock.Options{})
	warm(t, direct, due) // a NOSCRIPT is not the reply to lose

	cl := claimOf("job", "a/1", due)
	lose(t, p, func() error { return d.Claim(t.Context(), []series.Claim{cl})[0].Err })
	seen := claim(t, direct, claimOf("job", "b/1", due), series.KindPassed)
	a := claim(t, d, cl, series.KindGranted)
	if a.Fence != seen.Fence || a.Attempt != 1 {
		t.Errorf("asked again: %+v, the store had the fence %d", a, seen.Fence)
	}
	e := series.EndRequest{RunRef: runOf(cl, a), OK: true, Outcome: "ok"}
	lose(t, p, func() error { return d.ReleaseRuns(t.Context(), []series.EndRequest{e})[0].Err })
	if again := d.ReleaseRuns(t.Context(), []series.EndRequest{e})[0]; !again.Ended || again.Err != nil {
		t.Errorf("the release asked again: %+v", again)
	}

	req := driver.Acquisition{Key: "key", Owner: "a/2", TTL: time.Minute}
	lose(t, p, func() error { _, err := d.Acquire(t.Context(), req); return err })
	g, err := d.Acquire(t.Context(), req)
	must(t, err)
	h := driver.LeaseRef{Key: "key", Owner: "a/2", Fence: g.Fence, TTL: time.Minute}
	if again, err := d.Acquire(t.Context(), req); err != nil || again.Fence != g.Fence {
		t.Errorf("asked a third time: %+v, %v, want the fence %d", again, err, g.Fence)
	}
	lose(t, p, func() error { return d.Release(t.Context(), h) })
	must(t, d.Release(t.Context(), h))
}

// warm makes the scripts known to the server.
func warm(t *testing.T, d *redislock.Driver, due int64) {
	t.Helper()
	cl := claimOf("warm", "w/1", due)
	a := claim(t, d, cl, series.KindGranted)
	d.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: runOf(cl, a), OK: true, Outcome: "ok"}})
	must(t, d.Release(t.Context(), acquire(t, d, "warm", "w/2")))
}

// lose calls do, which sends one request, and loses the reply.
func lose(t *testing.T, p *cutter, do func() error) {
	t.Helper()
	p.cut.Store(true)
	if err := do(); err == nil {
		t.Error("a reply that was lost was no doubt")
	}
	if p.cut.Load() {
		t.Error("no reply was lost")
	}
}

// In a Cluster the reply to a release is lost, and another owner has the lock before anything
// is sent again: the client sends nothing by itself, and the holder is answered that the lock
// is free, not that the store had forgotten it.
func TestLostReleaseInACluster(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t, "--cluster-enabled", "yes")
	raw := client(t, s.Addr())
	must(t, raw.ClusterAddSlotsRange(t.Context(), 0, slots-1).Err())
	until(t, "the Cluster is whole", func() bool { return strings.Contains(raw.ClusterInfo(t.Context()).Val(), "cluster_state:ok") })
	other := newDriver(t, raw, redislock.Options{})
	ctx := patient(t.Context()) // the reply to a repeated request may be the one that is lost
	for name, c := range map[string]struct {
		keys  []string
		limit int
		known bool // the server knows the script
	}{
		"alone":                     {[]string{"alone"}, 1, true},
		"shared":                    {[]string{"shared"}, 3, true},
		"several":                   {[]string{"g/1", "g/2"}, 1, true},
		"alone, an unknown script":  {[]string{"new"}, 1, false},
		"shared, an unknown script": {[]string{"new shared"}, 3, false},
	} {
		p := newCutter(t, s.Addr())
		cluster := redis.NewClusterClient(&redis.ClusterOptions{
			MaxRetries: -1, ContextTimeoutEnabled: true, ReadTimeout: 2 * time.Second,
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				return []redis.ClusterSlot{{End: slots - 1, Nodes: []redis.ClusterNode{{Addr: p.Addr().String()}}}}, nil
			},
		})
		t.Cleanup(func() { _ = cluster.Close() })
		l := lock.New(newDriver(t, cluster, redislock.Options{GroupBy: "/"}), "a")
		must(t, acquireKey(t, l, "warm").Release(t.Context()))
		shared, err := l.Acquire(ctx, "warm shared", lock.Options{Limit: 3})
		must(t, err)
		must(t, shared.Release(t.Context()))
		var release func() error
		if len(c.keys) > 1 {
			all, err := l.AcquireAll(ctx, c.keys, lock.Options{})
			must(t, err)
			release = func() error { return all.Release(t.Context()) }
		} else {
			lease, err := l.Acquire(ctx, c.keys[0], lock.Options{Limit: c.limit})
			must(t, err)
			release = func() error { return lease.Release(t.Context()) }
		}
		p.before = func() { // another owner had the keys, and has freed them as well
			for _, key := range c.keys {
				g, err := other.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: "other/1", TTL: time.Minute, Limit: c.limit})
				must(t, err)
				must(t, other.Release(t.Context(), driver.LeaseRef{Key: key, Owner: "other/1", Fence: g.Fence, Limit: c.limit}))
			}
		}
		if !c.known {
			must(t, raw.ScriptFlush(t.Context()).Err())
			p.first.Store(1) // which says so
		}
		p.cut.Store(true)
		if err := release(); err != nil || p.cut.Load() {
			t.Errorf("%s: the release: %v", name, err)
		}
	}
}
