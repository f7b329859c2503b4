package redislock_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// eachServer runs a test on the simulated server and on the real one.
func eachServer(t *testing.T, do func(t *testing.T, c redis.UniversalClient, wait func(time.Duration))) {
	t.Run("simulated", func(t *testing.T) {
		s := simulated(t)
		do(t, client(t, s.Addr()), s.wait)
	})
	t.Run("real", func(t *testing.T) {
		c := client(t, redisserver.Start(t).Addr())
		do(t, c, func(d time.Duration) { waitOn(t, c, d) })
	})
}

// dueAfter opens series and returns a number after their marks, which is due.
func dueAfter(t *testing.T, d *redislock.Driver, wait func(time.Duration), keys []string) (due int64) {
	t.Helper()
	os := make([]series.OpenRequest, len(keys))
	for i, key := range keys {
		os[i] = series.OpenRequest{Key: key, Node: "opener", Revision: "r1"}
	}
	for _, s := range d.Open(t.Context(), os) {
		must(t, s.Err)
		due = max(due, s.Mark+1)
	}
	wait(2 * time.Millisecond)
	return due
}

// peeks asks which of the same number of some series are decided.
func peeks(t *testing.T, d *redislock.Driver, number int64, keys ...string) []*series.Answer {
	t.Helper()
	ps := make([]series.NumberRef, len(keys))
	for i, key := range keys {
		ps[i] = series.NumberRef{Key: key, Number: number}
	}
	answers, err := d.Peek(t.Context(), ps, true)
	must(t, err)
	return answers
}

// Of many numbers a peek returns those that are decided, also by a server that forgot the
// scripts, over several partitions and batches, and for numbers that differ.
func TestPeeksOverPartitions(t *testing.T) {
	eachServer(t, func(t *testing.T, c redis.UniversalClient, wait func(time.Duration)) {
		for _, partitions := range []int{1, 3} {
			d := newDriver(t, c, redislock.Options{Namespace: fresh(), Partitions: partitions})
			keys := names(230)
			due := dueAfter(t, d, wait, keys)
			first := make([]series.Claim, 120)
			for i := range first {
				first[i] = claimOf(keys[i], "a/"+strconv.Itoa(i), due)
			}
			d.Claim(t.Context(), first)
			ps := make([]series.NumberRef, len(keys))
			for i, key := range keys {
				ps[i] = series.NumberRef{Key: key, Number: due}
				if i == 7 {
					ps[i].Number-- // the numbers are not all the same
				}
			}
			must(t, c.ScriptFlush(t.Context()).Err())
			answers, err := d.Peek(t.Context(), ps, true)
			must(t, err)
			for i, a := range answers {
				node := "a"
				if i == 7 {
					node = ""
				}
				switch {
				case (a != nil) != (i < len(first)):
					t.Fatalf("%d partitions, peek %d: %+v", partitions, i, a)
				case a != nil && (a.Kind != series.KindPassed || a.Node != node || a.Number != ps[i].Number || a.Mark != due || a.Err != nil):
					t.Fatalf("%d partitions, peek %d: %+v, want passed by %q", partitions, i, a, node)
				}
			}
		}
	})
}

// A peek is one script that writes nothing but its proof, and is answered with the
// run while that is known.
func TestPeekIsOneScript(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	due := open(t, d, c, "job", "other")
	cl := claimOf("job", "a/1", due)
	run := runOf(cl, claim(t, d, cl, series.KindGranted))
	peeks(t, d, due, "job") // the server knows the script now
	must(t, c.ConfigResetStat(t.Context()).Err())
	answers := peeks(t, d, due, "job", "other")
	if a := answers[0]; a == nil || a.Kind != series.KindPassed || a.State != series.RunOpen || a.Fence != run.Fence || a.Left <= 0 || a.Now < due {
		t.Errorf("the answer is %+v, want the alive run %+v", a, run)
	}
	if a := answers[1]; a != nil {
		t.Errorf("the answer to what nobody has asked for is %+v", a)
	}
	if n := calls(t, c, "evalsha"); n != 1 {
		t.Errorf("a peek took %d scripts", n)
	}
	if n := calls(t, c, "hset"); n != 0 {
		t.Errorf("a peek wrote %d times", n)
	}
}

// A number whose key has a foreign type is not known to be decided, and its claim is doubt; the
// numbers beside it are answered.
func TestPeekAtForeignKey(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	due := open(t, d, c, "a", "b")
	claim(t, d, claimOf("a", "n/1", due), series.KindGranted)
	must(t, c.Set(t.Context(), "cronce:v1:{cronce.0}:s:b", "foreign", 0).Err())
	answers := peeks(t, d, due, "b", "a", "")
	if answers[0] != nil || answers[2] != nil {
		t.Errorf("of a foreign key it says %+v, of a bad one %+v", answers[0], answers[2])
	}
	if a := answers[1]; a == nil || a.Kind != series.KindPassed {
		t.Errorf("beside them it says %+v", a)
	}
	as := series.FrontOf(d).Claim(t.Context(), []series.Claim{claimOf("b", "n/2", due), claimOf("a", "n/3", due), claimOf("", "n/4", due)})
	if as[0].Kind != series.KindUnknown || as[0].Err == nil || !strings.Contains(as[0].Err.Error(), "WRONGTYPE") {
		t.Errorf("the claim of a foreign key: %+v", as[0])
	}
	if as[1].Kind != series.KindPassed || as[1].Err != nil {
		t.Errorf("the claim beside: %+v", as[1])
	}
	if as[2].Err == nil {
		t.Errorf("the bad claim: %+v", as[2])
	}
}
