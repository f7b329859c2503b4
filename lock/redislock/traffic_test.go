package redislock_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// calls is how often the server carried out a command since its counters began.
func calls(t *testing.T, c redis.UniversalClient, command string) int {
	t.Helper()
	m := regexp.MustCompile(`cmdstat_` + command + `:calls=(\d+)`).FindStringSubmatch(c.Info(t.Context(), "commandstats").Val())
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	must(t, err)
	return n
}

func names(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("job-%d", i)
	}
	return keys
}

// 201 claims of three partitions go as one script per partition, and each answer stands
// in the place of its claim.
func TestBatchOverPartitions(t *testing.T) {
	d, c := realDriver(t, redislock.Options{Partitions: 3})
	keys := names(201)
	due := open(t, d, c, keys...)
	cs := make([]series.Claim, len(keys))
	for i, key := range keys {
		cs[i] = claimOf(key, "a/"+strconv.Itoa(i), due)
	}
	d.Claim(t.Context(), cs[:50]) // the server knows the script now
	must(t, c.ConfigResetStat(t.Context()).Err())
	as := d.Claim(t.Context(), cs)
	if n := calls(t, c, "evalsha"); n != 3 {
		t.Errorf("201 claims of 3 partitions took %d scripts", n)
	}
	runs := make([]series.RunRef, len(cs))
	fences := make(map[string]int64)
	for i, a := range as {
		if a.Kind != series.KindGranted || a.Number != due || a.Err != nil {
			t.Fatalf("claim %d: %+v", i, a)
		}
		runs[i] = runOf(cs[i], a)
		fences[keys[i]] = a.Fence
	}
	for i, r := range d.RenewRuns(t.Context(), runs) {
		if !r.Alive {
			t.Errorf("renewal %d: %+v", i, r)
		}
	}
	for i, s := range d.ReadSeries(t.Context(), keys) {
		if s.Key != keys[i] || len(s.Runs) != 1 || s.Runs[0].Fence != fences[s.Key] {
			t.Errorf("look %d: %+v, want the fence %d", i, s, fences[s.Key])
		}
	}
}

// A batch of one partition is cut at 200 claims: while a script runs, the server answers no other
// request.
func TestBatchIsBounded(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	keys := names(401)
	open(t, d, c, keys...)
	must(t, c.ConfigResetStat(t.Context()).Err())
	d.ReadSeries(t.Context(), keys[:200])
	d.ReadSeries(t.Context(), keys)
	if n := calls(t, c, "evalsha"); n != 1+3 {
		t.Errorf("200 and 401 series took %d scripts, want 1 and 3", n)
	}
}

// Nothing is sent for an empty batch, or for one in which all is refused.
func TestNothingToSend(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	must(t, c.ConfigResetStat(t.Context()).Err())
	if as := d.Claim(t.Context(), nil); len(as) != 0 {
		t.Errorf("no claims have the answers %+v", as)
	}
	bad := claimOf("", "a/1", 1)
	if as := series.FrontOf(d).Claim(t.Context(), []series.Claim{bad, bad}); as[0].Err == nil || as[1].Err == nil || as[1].Kind != series.KindUnknown {
		t.Errorf("bad claims have the answers %+v", as)
	}
	if n := calls(t, c, "evalsha") + calls(t, c, "eval"); n != 0 {
		t.Errorf("%d scripts were sent", n)
	}
}

// A server that forgot the scripts, as after a failover, is sent them again
// within the same request.
func TestForgottenScripts(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	due := open(t, d, c, "job")
	flush := func() { must(t, c.ScriptFlush(t.Context()).Err()) }
	cl := claimOf("job", "a/1", due)
	flush()
	a := claim(t, d, cl, series.KindGranted)
	flush()
	if r := d.RenewRuns(t.Context(), []series.RunRef{runOf(cl, a)})[0]; !r.Alive {
		t.Errorf("renewal: %+v", r)
	}
	flush()
	h := acquire(t, d, "key", "a/2")
	flush()
	must(t, d.Release(t.Context(), h))
	flush()
	if _, err := d.Beat(t.Context(), series.Beat{Node: "node", TTL: time.Minute}); err != nil {
		t.Error(err)
	}
}

// Numbers are stored as digits, to the last one.
func TestStoredDigits(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	due := open(t, d, c, "job")
	const hour = 3_600_000_000 // µs
	for i, seen := range []int64{0, due*1000 + hour + 1, due*1000 + 20*hour + 7} {
		cl := claimOf("job", fmt.Sprint("a/", i), due)
		cl.Fence = seen
		a := claim(t, d, cl, series.KindGranted)
		if seen != 0 && a.Fence != seen+1 {
			t.Errorf("the fence above %d is %d", seen, a.Fence)
		}
		want := strconv.FormatInt(a.Fence, 10)
		h := c.HGetAll(t.Context(), "cronce:v1:{cronce.0}:s:job").Val()
		if h["f"] != want || !strings.Contains(h["r"], "|"+want+"|") || h["m"] != strconv.FormatInt(due, 10) {
			t.Errorf("the store has %q, want the fence %s", h, want)
		}
		d.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: runOf(cl, a), OK: true, Outcome: "ok"}})
		due++
		waitOn(t, c, 2*time.Millisecond)
	}
}

// A key of a foreign type spoils the claims of its own series only.
func TestForeignKey(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	due := open(t, d, c, "a", "b", "c")
	must(t, c.Set(t.Context(), "cronce:v1:{cronce.0}:s:b", "foreign", 0).Err())
	must(t, c.Del(t.Context(), "cronce:v1:{cronce.0}:j:c").Err())
	must(t, c.Set(t.Context(), "cronce:v1:{cronce.0}:j:c", "foreign", 0).Err())
	as := d.Claim(t.Context(), []series.Claim{claimOf("a", "n/1", due), claimOf("b", "n/2", due), claimOf("c", "n/3", due)})
	if as[0].Kind != series.KindGranted {
		t.Errorf("the claim beside: %+v", as[0])
	}
	for _, a := range as[1:] {
		if a.Kind != series.KindUnknown || a.Err == nil || !strings.Contains(a.Err.Error(), "WRONGTYPE") {
			t.Errorf("the claim of a foreign key: %+v", a)
		}
	}
	if s := d.ReadSeries(t.Context(), []string{"c"})[0]; s.Mark != due-1 || len(s.Runs) != 0 {
		t.Errorf("a claim whose verdict could not be written moved the mark: %+v", s)
	}
}
