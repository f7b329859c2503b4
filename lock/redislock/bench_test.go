package redislock_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

const benchJobs = 2000

// A field is many open series on a real server.
type field struct {
	testing.TB
	driver *redislock.Driver
	client redis.UniversalClient
	owners int
}

func newField(t testing.TB) *field { return newFieldOn(t, redisserver.Start(t).Addr()) }

func newFieldOn(t testing.TB, addr string) *field {
	c := client(t, addr)
	d := newDriver(t, c, redislock.Options{})
	f := &field{TB: t, driver: d, client: c}
	os := make([]series.OpenRequest, benchJobs)
	for i := range os {
		os[i] = series.OpenRequest{Key: "job-" + strconv.Itoa(i), Node: "bench", Revision: "7d1b6e0c", Spec: "* * * * * *", Zone: "UTC"}
	}
	for _, s := range d.Open(context.Background(), os) {
		if s.Err != nil {
			t.Fatal(s.Err)
		}
	}
	waitOn(t, c, 2*time.Millisecond)
	return f
}

// claims asks for a number of every series that nobody has asked for.
func (f *field) claims() []series.Claim {
	f.Helper()
	waitOn(f, f.client, 2*time.Millisecond)
	now := f.client.Time(context.Background()).Val().UnixMilli()
	cs := make([]series.Claim, benchJobs)
	for i := range cs {
		f.owners++
		cs[i] = series.Claim{Key: "job-" + strconv.Itoa(i), Owner: "bench-5f2a91c4/" + strconv.Itoa(f.owners), Number: now, TTL: 30 * time.Second,
			Deadline: time.Minute, Attempts: 3, Window: time.Hour, Latest: now + 60_000, Revision: "7d1b6e0c"}
	}
	return cs
}

func (f *field) release(cs []series.Claim, as []series.Answer) {
	f.Helper()
	es := make([]series.EndRequest, len(cs))
	for i := range cs {
		if as[i].Kind != series.KindGranted {
			f.Fatalf("claim %d: %+v", i, as[i])
		}
		es[i] = series.EndRequest{RunRef: series.RunRef{Key: cs[i].Key, Number: cs[i].Number, Owner: cs[i].Owner, Fence: as[i].Fence}, Outcome: "ok", OK: true}
	}
	for _, e := range f.driver.ReleaseRuns(context.Background(), es) {
		if !e.Ended {
			f.Fatalf("release: %+v", e)
		}
	}
}

// each calls do for every place, from n goroutines.
func each(n, places int, do func(i int)) {
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() {
			for i := g; i < places; i += n {
				do(i)
			}
		})
	}
	wg.Wait()
}

// Claims that are all granted, journal included: batched, and the same one by
// one. One iteration is 2000 claims; their releases are not counted.
func BenchmarkClaim(b *testing.B) {
	for _, goroutines := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("one-by-one/goroutines=%d", goroutines), func(b *testing.B) {
			benchClaims(b, func(ctx context.Context, f *field, cs []series.Claim, as []series.Answer) {
				each(goroutines, len(cs), func(i int) { as[i] = f.driver.Claim(ctx, cs[i:i+1])[0] })
			})
		})
	}
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprintf("batches-of-100/goroutines=%d", goroutines), func(b *testing.B) {
			benchClaims(b, func(ctx context.Context, f *field, cs []series.Claim, as []series.Answer) {
				each(goroutines, len(cs)/100, func(i int) { copy(as[100*i:], f.driver.Claim(ctx, cs[100*i:100*i+100])) })
			})
		})
	}
}

func benchClaims(b *testing.B, ask func(context.Context, *field, []series.Claim, []series.Answer)) {
	f, ctx := newField(b), b.Context()
	as := make([]series.Answer, benchJobs)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		cs := f.claims()
		b.StartTimer()
		ask(ctx, f, cs, as)
		b.StopTimer()
		f.release(cs, as)
		b.StartTimer()
	}
	b.ReportMetric(float64(benchJobs)*float64(b.N)/b.Elapsed().Seconds(), "claims/s")
}

// Claims of, and peeks at, numbers that others were granted, which all nodes but
// one are after at each tick: batches of 100.
func BenchmarkPassed(b *testing.B) {
	f, ctx := newField(b), b.Context()
	cs := f.claims()
	for _, a := range f.driver.Claim(ctx, cs) {
		if a.Kind != series.KindGranted {
			b.Fatalf("%+v", a)
		}
	}
	ps := make([]series.NumberRef, len(cs))
	for i := range cs {
		cs[i].Owner = "other-91c45f2a/" + strconv.Itoa(i)
		ps[i] = series.NumberRef{Key: cs[i].Key, Number: cs[i].Number}
	}
	claim := func(i int) (passed bool) { return f.driver.Claim(ctx, cs[i:i+100])[0].Kind == series.KindPassed }
	peek := func(i int) (passed bool) {
		answers, err := f.driver.Peek(ctx, ps[i:i+100], true)
		return err == nil && answers[0] != nil
	}
	for name, ask := range map[string]func(int) bool{"claim": claim, "peek": peek} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := 0; i < len(cs); i += 100 {
					if !ask(i) {
						b.Fatal("it is not answered as decided")
					}
				}
			}
			b.ReportMetric(float64(benchJobs)*float64(b.N)/b.Elapsed().Seconds(), "answers/s")
		})
	}
}

// A plain lease without competitors, compared with the usual hand-written lock.
func BenchmarkPlain(b *testing.B) {
	d, c := realDriver(b, redislock.Options{})
	ctx, stop := context.WithTimeout(context.Background(), time.Hour) // callers bound their requests
	b.Cleanup(stop)
	b.Run("driver", func(b *testing.B) {
		owner := 0
		for b.Loop() {
			owner++
			a := driver.Acquisition{Key: "stock/4711", Owner: "bench-5f2a91c4/" + strconv.Itoa(owner), TTL: 30 * time.Second}
			g, err := d.Acquire(ctx, a)
			if err != nil {
				b.Fatal(err)
			}
			if err := d.Release(ctx, driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence}); err != nil {
				b.Fatal(err)
			}
		}
	})
	del := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
	b.Run("raw", func(b *testing.B) {
		owner := 0
		for b.Loop() {
			owner++
			value := "bench-5f2a91c4/" + strconv.Itoa(owner)
			if ok, err := c.SetNX(ctx, "stock/4711", value, 30*time.Second).Result(); !ok || err != nil {
				b.Fatal(ok, err)
			}
			if n, err := del.Run(ctx, c, []string{"stock/4711"}, value).Int(); n != 1 || err != nil {
				b.Fatal(n, err)
			}
		}
	})
}
