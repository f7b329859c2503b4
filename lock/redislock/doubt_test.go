package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// doubts asks everything and fails the test unless each answer is the doubt
// that is wanted: neither granted, nor refused, nor lost.
func doubts(t *testing.T, d *redislock.Driver, number int64, want string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	h := driver.LeaseRef{Key: "key", Owner: "a/1", Fence: 1, TTL: time.Minute}
	run := series.RunRef{Key: "job", Number: number, Owner: "a/1", Fence: 1, TTL: time.Minute}
	_, acquired := d.Acquire(ctx, driver.Acquisition{Key: "key", Owner: "b/1", TTL: time.Minute})
	_, renewed := d.Renew(ctx, h)
	claimed := d.Claim(ctx, []series.Claim{claimOf("job", "b/1", number), claimOf("job", "b/2", number+1)})
	if claimed[0].Kind != series.KindUnknown || claimed[1].Kind != series.KindUnknown {
		t.Errorf("claims are answered with %+v", claimed)
	}
	answers, peeked := d.Peek(ctx, []series.NumberRef{{Key: "job", Number: number}}, true)
	if answers[0] != nil {
		t.Errorf("a peek is answered with %+v", answers[0])
	}
	_, beat := d.Beat(ctx, series.Beat{Node: "b", TTL: time.Minute})
	for what, err := range map[string]error{
		"acquire": acquired, "renew": renewed, "release": d.Release(ctx, h),
		"release with any fence": d.Release(ctx, driver.LeaseRef{Key: "key", Owner: "c/1"}),
		"claim":                  claimed[0].Err, "second claim": claimed[1].Err,
		"peek":        peeked,
		"renew run":   d.RenewRuns(ctx, []series.RunRef{run})[0].Err,
		"release run": d.ReleaseRuns(ctx, []series.EndRequest{{RunRef: run}})[0].Err,
		"open":        d.Open(ctx, []series.OpenRequest{{Key: "job", Node: "b"}})[0].Err,
		"look":        d.ReadSeries(ctx, []string{"job"})[0].Err,
		"pause":       d.Control(ctx, series.Control{Key: "job", Action: series.ActionPause, Op: "1", Who: "ann", Reason: "for the test", Seen: series.AnySeen}).Err,
		"beat":        beat,
	} {
		_, refused := errors.AsType[*driver.HeldError](err)
		if err == nil || refused || errors.Is(err, driver.ErrLost) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want doubt with %q", what, err, want)
		}
	}
}

// The data of a replica is no answer: it may be old, and it may stay behind.
func TestReplicaIsDoubt(t *testing.T) {
	master, copied := redisserver.Start(t, "--repl-diskless-sync-delay", "0"), redisserver.Start(t)
	mc, rc := client(t, master.Addr()), client(t, copied.Addr())
	md, rd := newDriver(t, mc, redislock.Options{}), newDriver(t, rc, redislock.Options{})
	due := open(t, md, mc, "job")
	claim(t, md, claimOf("job", "a/1", due), series.KindGranted)
	acquire(t, md, "key", "a/1")

	must(t, rc.SlaveOf(t.Context(), "127.0.0.1", fmt.Sprint(master.Port())).Err())
	until(t, "the replica has what the master has", func() bool { return rc.DBSize(t.Context()).Val() == mc.DBSize(t.Context()).Val() })
	doubts(t, rd, due, "READONLY")
}

// A server that is busy with somebody's script does not answer.
func TestBusyIsDoubt(t *testing.T) {
	s := redisserver.Start(t, "--lua-time-limit", "10")
	c := client(t, s.Addr())
	d := newDriver(t, c, redislock.Options{})
	due := open(t, d, c, "job")
	patient := client(t, s.Addr(), func(o *redis.UniversalOptions) { o.ReadTimeout = time.Minute })
	done := make(chan error, 1)
	go func() { done <- patient.Eval(context.Background(), "while true do end", nil).Err() }()
	until(t, "the server is busy", func() bool { return strings.HasPrefix(fmt.Sprint(c.Ping(t.Context()).Err()), "BUSY") })
	doubts(t, d, due, "BUSY")
	must(t, c.ScriptKill(t.Context()).Err())
	if err := <-done; err == nil {
		t.Error("the script that never ends has ended")
	}
	claim(t, d, claimOf("job", "b/1", due), series.KindGranted)
}

// Errors of a server that is not ready, or that has no such script, are doubt.
func TestServerErrorsAreDoubt(t *testing.T) {
	s := simulated(t)
	d := newDriver(t, client(t, s.Addr()), redislock.Options{})
	for _, text := range []string{
		"LOADING Redis is loading the dataset in memory",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"NOSCRIPT No matching script.",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		"NOREPLICAS Not enough good replicas to write.",
		"TRYAGAIN Multiple keys request during rehashing of slot",
		"CLUSTERDOWN The cluster is down",
		"NOPERM this user has no permissions",
	} {
		s.SetError(text)
		doubts(t, d, s.time().UnixMilli(), strings.Fields(text)[0])
	}
	s.SetError("")
}

// A server that is gone, and one that never answers, are doubt at the end of the context at the
// latest, with any limits of the client.
func TestSilenceIsDoubt(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	for name, change := range map[string]func(*redis.UniversalOptions){
		"a hardened client": func(*redis.UniversalOptions) {},
		"a client that ignores contexts": func(o *redis.UniversalOptions) {
			o.ContextTimeoutEnabled, o.ReadTimeout, o.DialTimeout = false, time.Hour, time.Hour
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, client(t, silent.Addr().String(), change), redislock.Options{})
			ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer stop()
			start := time.Now()
			a := d.Claim(ctx, []series.Claim{claimOf("job", "a/1", 1)})[0]
			if !errors.Is(a.Err, context.DeadlineExceeded) && !isTimeout(a.Err) {
				t.Errorf("the answer is %+v", a)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// until waits for a condition.
var until = rig.Eventually
