package redislock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// replicated starts a master and its replicas and returns when the replicas have its data.
func replicated(t *testing.T, n int) (master *redisserver.Server, replicas []*redisserver.Server) {
	t.Helper()
	master = redisserver.Start(t)
	for range n {
		replicas = append(replicas, redisserver.Replica(t, master))
	}
	c := client(t, master.Addr())
	until(t, "the replicas acknowledge a write", func() bool {
		both := c.Pipeline() // on one connection: with nothing written there a WAIT counts replicas that are still loading
		both.Publish(t.Context(), "written", "")
		acked := both.Do(t.Context(), "wait", n, 1000)
		_, err := both.Exec(t.Context())
		return err == nil && acked.Val() == int64(n)
	})
	return master, replicas
}

// stopped stops a server without ending it: it answers nothing.
func stopped(t *testing.T, s *redisserver.Server) {
	t.Helper()
	must(t, syscall.Kill(s.Pid(), syscall.SIGSTOP))
}

func continued(t *testing.T, s *redisserver.Server) {
	t.Helper()
	must(t, syscall.Kill(s.Pid(), syscall.SIGCONT))
}

// acknowledged returns when so many replicas have acknowledged all there is. From
// then on a WAIT on a connection that has written nothing since counts them, also
// when they have stopped. (The question that a WAIT asks is in the stream, too, and
// is acknowledged a second later.)
func acknowledged(t *testing.T, c redis.UniversalClient, n int) {
	t.Helper()
	until(t, "the replicas acknowledge everything", func() bool {
		info := c.Info(t.Context(), "replication").Val()
		_, rest, _ := strings.Cut(info, "master_repl_offset:")
		at, _, _ := strings.Cut(rest, "\r\n")
		return at != "" && strings.Count(info, ",offset="+at+",") == n
	})
}

// lacks fails the test unless err is doubt that says how many replicas answered.
func lacks(t *testing.T, what string, err error, want, acked int) {
	t.Helper()
	e, ok := errors.AsType[*driver.ReplicasError](err)
	if !ok || e.Want != want || e.Acked > acked {
		t.Errorf("%s: %v, want a *lock.ReplicasError with %d of %d at most", what, err, acked, want)
	}
}

// With all replicas, grants and renewals count. When one stops, both are doubt with the number of
// the others, a grant is undone, and requests without replicas go on. Other connections are in use
// all the time: the writes of those that replicas have do not count.
func TestReplicas(t *testing.T) {
	t.Parallel()
	master, replicas := replicated(t, 2)
	c := client(t, master.Addr(), patiently)
	d, hasty := newDriver(t, c, redislock.Options{AckTimeout: 10 * time.Second}), newDriver(t, c, redislock.Options{})
	until(t, "the driver counts both", func() bool { n, err := d.Replicas(t.Context(), "key"); return err == nil && n == 2 })
	due := open(t, d, c, "job", "other")
	h, cl, run := holdings(t, d, due)

	acknowledged(t, c, 2)
	stopped(t, replicas[0])
	_, err := hasty.Renew(t.Context(), h)
	lacks(t, "renewal", err, 2, 1)
	lacks(t, "renewal of a run", hasty.RenewRuns(t.Context(), []series.RunRef{run})[0].Err, 2, 1)
	must(t, d.Release(t.Context(), h))
	lacks(t, "grant", acquireFor(t, hasty, "key", "b/1", 2), 2, 1)
	must(t, acquireFor(t, d, "key", "b/2", 1)) // it was undone, and one replica is there
	other := cl
	other.Key, other.Owner = "other", "b/1"
	as := hasty.Claim(t.Context(), []series.Claim{other, claimOf("job", "b/2", due)})
	lacks(t, "claim", as[0].Err, 2, 1)
	if as[0].Kind != series.KindUnknown || as[1].Kind != series.KindPassed {
		t.Errorf("the claims are answered with %+v", as)
	}

	continued(t, replicas[0])
	left := claim(t, d, claimOf("other", "b/3", due), series.KindPassed)
	other.Owner, other.From = "b/4", left.Fence
	until(t, "the replica is back", func() bool { n, _ := d.Replicas(t.Context(), "job"); return n == 2 })
	if a := claim(t, d, other, series.KindGranted); a.Attempt != 1 || a.Fence <= left.Fence {
		t.Errorf("after a grant that was undone: %+v", a)
	}
	if r := d.RenewRuns(t.Context(), []series.RunRef{run})[0]; !r.Alive {
		t.Errorf("the renewal is %+v", r)
	}
}

// A grant whose request is repeated was written by another connection, perhaps before its reply was
// lost. It counts no sooner: with the replicas stopped it is doubt, with any version of the server,
// which differ in a WAIT without a write.
func TestReplicasOfARepeatedRequest(t *testing.T) {
	t.Parallel()
	master, replicas := replicated(t, 1)
	c := client(t, master.Addr(), patiently)
	d := newDriver(t, c, redislock.Options{})
	due := open(t, d, c, "job")
	cl := claimOf("job", "a/1", due)
	claim(t, d, cl, series.KindGranted)
	must(t, acquireFor(t, d, "key", "a/1", 0))
	stopped(t, replicas[0])
	before := calls(t, c, "set")
	lacks(t, "grant", acquireFor(t, d, "key", "a/1", 1), 1, 0)
	cl.Replicas = 1
	lacks(t, "claim", d.Claim(t.Context(), []series.Claim{cl})[0].Err, 1, 0)
	// Older servers count no replica here in any case. Newer servers wait because of a SET for
	// each, besides the SETs with which a lock is tried: one, or two if a script was not known.
	if n := calls(t, c, "set") - before; n < 1+2 {
		t.Errorf("%d SETs for a grant and the WAITs of a grant and of a claim, want 3 or more", n)
	}
}

// patiently lets a client wait for a server, or its replicas, on a busy machine.
func patiently(o *redis.UniversalOptions) { o.ReadTimeout = time.Minute }

// holdings are a lease and a run that two replicas have.
func holdings(t *testing.T, d *redislock.Driver, due int64) (driver.LeaseRef, series.Claim, series.RunRef) {
	t.Helper()
	g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "a/1", TTL: time.Minute, Replicas: 2})
	must(t, err)
	h := driver.LeaseRef{Key: "key", Owner: "a/1", Fence: g.Fence, TTL: time.Minute, Replicas: 2}
	_, err = d.Renew(t.Context(), h)
	must(t, err)
	cl := claimOf("job", "a/1", due)
	cl.Replicas = 2
	run := runOf(cl, claim(t, d, cl, series.KindGranted))
	run.Replicas = 2
	if r := d.RenewRuns(t.Context(), []series.RunRef{run})[0]; !r.Alive {
		t.Fatalf("the renewal is %+v", r)
	}
	return h, cl, run
}

func acquireFor(t *testing.T, d *redislock.Driver, key, owner string, replicas int) error {
	t.Helper()
	_, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: owner, TTL: time.Minute, Replicas: replicas})
	return err
}

// A lease whose renewals no replica acknowledges ends with its trust, though its
// server answers: it may be a master that the others have left. The server's
// deadline is later, so nobody else is granted the key before.
func TestReplicasLostWhileHeld(t *testing.T) {
	t.Parallel()
	master, replicas := replicated(t, 1)
	d := newDriver(t, client(t, master.Addr()), redislock.Options{})
	// A fifth of so short a TTL may be too little for a replica on a busy machine, which
	// is doubt: a try gives up then, Acquire asks again.
	lease, err := lock.New(d, "a").Acquire(t.Context(), "key", lock.Options{TTL: time.Second, Replicas: 1})
	must(t, err)
	stopped(t, replicas[0])
	<-lease.Context().Done()
	if err := context.Cause(lease.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("the lease ended with %v", err)
	}
	if s, err := d.Inspect(context.Background(), "key"); err != nil || s.Owner == "" {
		t.Errorf("when the lease ended the key was free: %+v, %v", s, err)
	}
	lacks(t, "another lease", acquireFor(t, d, "other", "b/1", 1), 1, 0)
}

// A server that forgot the scripts is sent them again, and WAIT with them.
func TestReplicasAndForgottenScripts(t *testing.T) {
	t.Parallel()
	master, _ := replicated(t, 1)
	c := client(t, master.Addr(), patiently)
	d := newDriver(t, c, redislock.Options{AckTimeout: 10 * time.Second})
	must(t, c.ScriptFlush(t.Context()).Err())
	must(t, acquireFor(t, d, "key", "a/1", 1))
}

// Waiters are handed a lock that replicas have; without replicas they are in
// doubt, and leave nothing behind.
func TestReplicasWait(t *testing.T) {
	t.Parallel()
	master, replicas := replicated(t, 1)
	d := newDriver(t, client(t, master.Addr(), patiently), redislock.Options{})
	t.Cleanup(func() { must(t, d.Close()) })
	l := lock.New(d, "a")
	first := acquireKey(t, l, "key")
	got := make(chan error, 1)
	go func() {
		lease, err := l.Acquire(t.Context(), "key", lock.Options{Replicas: 1})
		if err == nil {
			err = lease.Release(t.Context())
		}
		got <- err
	}()
	until(t, "it waits", func() bool { s, _ := d.Inspect(t.Context(), "key"); return s.Waiting == 1 })
	must(t, first.Release(t.Context()))
	must(t, <-got)

	stopped(t, replicas[0])
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if _, err := l.Acquire(ctx, "key", lock.Options{Replicas: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without replicas: %v", err)
	}
	must(t, acquireKey(t, l, "key").Release(t.Context()))
}

// A user without the right to WAIT gets doubt, with the reason.
func TestReplicasDenied(t *testing.T) {
	t.Parallel()
	master, _ := replicated(t, 1)
	admin := client(t, master.Addr(), patiently)
	d := newDriver(t, restricted(t, admin, "cronce"), redislock.Options{AckTimeout: 10 * time.Second})
	must(t, acquireFor(t, d, "key", "a/1", 1))
	must(t, admin.ACLSetUser(t.Context(), "worker", "-wait").Err())
	err := acquireFor(t, d, "key", "b/1", 1)
	if _, held := errors.AsType[*lock.HeldError](err); !held {
		t.Errorf("the key of another: %v", err)
	}
	err = acquireFor(t, d, "another", "b/1", 1)
	lacks(t, "grant", err, 1, 0)
	if err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("the error is %v", err)
	}
	if n, err := d.Replicas(t.Context(), "key"); err == nil {
		t.Errorf("there are %d replicas", n)
	}
}

// A lease that too few replicas have is given back also if the caller's context has ended meanwhile.
func TestGivenBackAfterTheEnd(t *testing.T) {
	for name, limit := range map[string]int{"alone": 1, "shared": 2} {
		c := client(t, redisserver.Start(t).Addr())
		d := newDriver(t, c, redislock.Options{AckTimeout: time.Millisecond})
		a := driver.Acquisition{Key: "key", Owner: "n/1", TTL: time.Minute, Limit: limit, Replicas: 1}
		_, err := d.Acquire(t.Context(), a) // the server knows the scripts now
		lacks(t, name, err, 1, 0)
		ctx, cancel := context.WithCancel(t.Context())
		h := &endAfterPipeline{end: cancel}
		c.AddHook(h)
		_, err = d.Acquire(ctx, a)
		lacks(t, name, err, 1, 0)
		if ctx.Err() == nil || h.sent.Load() != 1 {
			t.Errorf("%s: %d requests after the end", name, h.sent.Load())
		}
	}
}

// endAfterPipeline ends a context after each pipeline of a client, and counts its other requests.
type endAfterPipeline struct {
	end  func()
	sent atomic.Int64
}

func (*endAfterPipeline) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *endAfterPipeline) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.sent.Add(1)
		return next(ctx, cmd)
	}
}

func (h *endAfterPipeline) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer h.end()
		return next(ctx, cmds)
	}
}

// In a Cluster the key's own master is asked for its own replicas.
func TestReplicasInCluster(t *testing.T) {
	t.Parallel() // it waits for the servers to meet
	nodes := redisserver.Cluster(t, 3, 1)
	c := client(t, nodes[0].Addr(), func(o *redis.UniversalOptions) { o.IsClusterMode = true })
	d := newDriver(t, c, redislock.Options{Partitions: 16})
	keys := names(12)
	due := open(t, d, c, keys...)
	stopped(t, nodes[3]) // the replica of the first master
	lost := 0
	for i, key := range keys {
		first := nodes[0].Addr() == masterOf(t, c, key)
		want := 1
		if first {
			want, lost = 0, lost+1
		}
		until(t, "the replica is gone, or there", func() bool { n, _ := d.Replicas(t.Context(), key); return n == want })
		err := acquireFor(t, d, key, "a/1", 1)
		if first {
			lacks(t, key, err, 1, 0)
		} else if err != nil { // a loaded machine is slow to acknowledge
			until(t, "the replica has the grant of "+key, func() bool { return acquireFor(t, d, key, "a/1", 1) == nil })
		}
		cl := claimOf(key, "a/2", due)
		cl.Replicas = 1
		a := d.Claim(t.Context(), []series.Claim{cl})[0]
		if _, short := errors.AsType[*driver.ReplicasError](a.Err); a.Err != nil && !short || a.Err == nil && a.Kind != series.KindGranted {
			t.Errorf("claim %d: %+v", i, a)
		}
	}
	if lost == 0 || lost == len(keys) {
		t.Errorf("the first master has %d of %d keys", lost, len(keys))
	}
}

// masterOf is the address of the master that has a lock.
func masterOf(t *testing.T, c redis.UniversalClient, key string) string {
	t.Helper()
	m, err := c.(*redis.ClusterClient).MasterForKey(t.Context(), "cronce:v1:l:{"+key+"}")
	must(t, err)
	return m.Options().Addr
}

// A server that answers the question for its replicas with an error has none. One that does not answer may have some.
func TestReplicasAreNotSaid(t *testing.T) {
	m := miniredis.RunT(t) // it knows no INFO replication
	d, err := redislock.New(client(t, m.Addr()), redislock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := d.Attached(t.Context(), "job"); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	m.Close()
	if n, err := d.Attached(t.Context(), "job"); err == nil {
		t.Errorf("without a server: %d replicas", n)
	}
}
