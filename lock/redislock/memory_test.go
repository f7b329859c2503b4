package redislock_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// leftovers are the keys that are there, but for the last fences of locks that were
// freed, which expire by themselves.
func leftovers(t *testing.T, c redis.UniversalClient) (left []string) {
	t.Helper()
	for _, key := range c.Keys(t.Context(), "*").Val() {
		text, life := c.Get(t.Context(), key).Val(), c.PTTL(t.Context(), key).Val()
		_, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !strings.Contains(key, ":l:{") || life < 0 || life > 10*time.Second+time.Millisecond { // the server rounds the expiry to a ms
			left = append(left, fmt.Sprintf("%s = %q for %v", key, text, life))
		}
	}
	return left
}

// The last fence of a lock that was freed is remembered until the server's clock is 10
// seconds past it, to the ms.
func TestFenceIsRemembered(t *testing.T) {
	s := simulated(t)
	c := client(t, s.Addr())
	d := newDriver(t, c, redislock.Options{})
	for _, limit := range []int{1, 2} {
		for _, held := range []time.Duration{0, 9998 * time.Millisecond} {
			key := fmt.Sprintf("%v-%d", held, limit)
			g, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: "a/1", TTL: time.Minute, Limit: limit})
			must(t, err)
			s.wait(held)
			must(t, d.Release(t.Context(), driver.LeaseRef{Key: key, Owner: "a/1", Fence: g.Fence, Limit: limit}))
			remembered := func() bool { return c.Get(t.Context(), "cronce:v1:l:{"+key+"}").Val() == fmt.Sprint(g.Fence) }
			s.wait(10*time.Second - held - time.Millisecond)
			if !remembered() {
				t.Errorf("limit %d, held for %v: the fence was forgotten too early", limit, held)
			}
			s.wait(time.Millisecond)
			if remembered() {
				t.Errorf("limit %d, held for %v: the fence is remembered for too long", limit, held)
			}
		}
	}
	if left := s.Keys(); len(left) != 0 {
		t.Errorf("%d keys are left: %q", len(left), left)
	}
}

// On a real server, whose scripts are given a clock that is put back: the next fence is
// one above that which is remembered, whichever script grants it. Nothing is remembered
// of a fence that is 10 seconds old.
func TestFenceOverStepBack(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	d.ClockFrom("clock")
	set := func(to time.Time) {
		must(t, c.HSet(t.Context(), "clock", "s", to.Unix(), "u", to.Nanosecond()/1000).Err())
	}
	now := c.Time(t.Context()).Val()
	use := func(key string, limit int) int64 {
		g, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: "a/1", TTL: time.Minute, Limit: limit})
		must(t, err)
		must(t, d.Release(t.Context(), driver.LeaseRef{Key: key, Owner: "a/1", Fence: g.Fence, Limit: limit}))
		return g.Fence
	}
	for _, first := range []int{1, 2} {
		for _, next := range []int{1, 2} {
			key := fmt.Sprint(first, "-", next)
			set(now)
			before := use(key, first)
			set(now.Add(-5 * time.Second))
			if after := use(key, next); after != before+1 {
				t.Errorf("%s: the fence after a step back is %d, after %d", key, after, before)
			}
		}
	}
	set(now.Add(-time.Hour))
	use("old", 1)
	use("old-shared", 2)
	if n := c.Exists(t.Context(), "cronce:v1:l:{old}", "cronce:v1:l:{old-shared}").Val(); n != 0 {
		t.Errorf("%d fences are remembered that are an hour old", n)
	}
}

// A plain lock that is held costs at most 200 bytes for a key of 40, once it is free at
// most 120 for 10 seconds, and then nothing.
func TestMemoryOfLocks(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	key := "stock/" + strings.Repeat("4", 34)
	h := acquire(t, d, key, "node-0123abcd/1a2b3c") // as long as owners are
	n, err := c.MemoryUsage(t.Context(), "cronce:v1:l:{"+key+"}").Result()
	must(t, err)
	if n > 200 {
		t.Errorf("a lock with a key of %d bytes costs %d bytes", len(key), n)
	}
	must(t, d.Release(t.Context(), h))
	n, err = c.MemoryUsage(t.Context(), "cronce:v1:l:{"+key+"}").Result()
	must(t, err)
	if n > 120 {
		t.Errorf("what is remembered of a lock with a key of %d bytes costs %d bytes", len(key), n)
	}
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("%d keys are left: %q", len(left), left)
	}
}

// history writes lines to the journals of series, several to each.
func history(t *testing.T, d *redislock.Driver, c redis.UniversalClient, keys []string, rounds int) {
	t.Helper()
	due := open(t, d, c, keys...)
	waitOn(t, c, time.Duration(rounds+1)*time.Millisecond)
	for round := range rounds {
		cs := make([]series.Claim, len(keys))
		for i, key := range keys {
			cs[i] = claimOf(key, "n/"+strconv.Itoa(round), due+int64(round))
			cs[i].Overlap = series.OverlapAllow
		}
		es := make([]series.EndRequest, len(keys))
		for i, a := range d.Claim(t.Context(), cs) {
			if a.Kind != series.KindGranted {
				t.Fatalf("round %d: %+v", round, a)
			}
			es[i] = series.EndRequest{RunRef: runOf(cs[i], a), OK: true, Outcome: "ok"}
		}
		d.ReleaseRuns(t.Context(), es)
	}
}

// weights returns the counter of a partition, the bytes of its journals' lines with the counter's
// overhead for each, and the number of lines.
func weights(t *testing.T, c redis.UniversalClient, keys []string) (counted, bytes, lines int64) {
	t.Helper()
	counted, err := c.Get(t.Context(), "cronce:v1:{cronce.0}:jb").Int64()
	must(t, err)
	for _, key := range keys {
		for _, line := range c.LRange(t.Context(), "cronce:v1:{cronce.0}:j:"+key, 0, -1).Val() {
			bytes += int64(len(line)) + 4
			lines++
		}
	}
	return counted, bytes, lines
}

// The counter of bytes is right to the byte while journals grow, fold and are
// cut by their length.
func TestJournalIsCounted(t *testing.T) {
	d, c := realDriver(t, redislock.Options{JournalLines: 20})
	keys := names(5)
	history(t, d, c, keys, 50)
	counted, bytes, lines := weights(t, c, keys)
	if counted != bytes {
		t.Errorf("the counter says %d, the lines have %d", counted, bytes)
	}
	if lines > 5*20 || lines < 5*19 {
		t.Errorf("%d lines of 5 series are kept, want 95 to 100", lines)
	}
}

// A journal has as many lines as it may have, and one line more costs it a sixteenth
// of them beside its oldest.
func TestJournalLength(t *testing.T) {
	d, c := realDriver(t, redislock.Options{JournalLines: 20})
	for rounds, want := range map[int]int64{19: 20, 20: 19} {
		key := names(rounds)[rounds-1]
		history(t, d, c, []string{key}, rounds) // after the line of its opening
		if _, _, lines := weights(t, c, []string{key}); lines != want {
			t.Errorf("%d lines are kept of %d, want %d", lines, rounds+1, want)
		}
	}
}

// Over the bytes of all journals a new line costs its series the line before it, and
// is there itself.
func TestJournalKeepsItsNewestLine(t *testing.T) {
	d, c := realDriver(t, redislock.Options{JournalBytes: 1})
	key := names(1)[0]
	open(t, d, c, key)
	for i := range 3 {
		number := c.Time(t.Context()).Val().UnixMilli()
		asked := claimOf(key, "n/"+strconv.Itoa(i), number)
		asked.Overlap = series.OverlapAllow
		claim(t, d, asked, series.KindGranted)
		if j, err := d.Journal(t.Context(), key, 0); err != nil || len(j.Lines) != 1 || j.Lines[0].To != number {
			t.Errorf("after %d the journal is %+v, %v", number, j.Lines, err)
		}
		waitOn(t, c, 2*time.Millisecond)
	}
}

// A deploy makes journals so short that the exceptions which a journal has alone exceed them: its newest line stays all the same.
func TestShortenedJournalKeepsItsNewestLine(t *testing.T) {
	d, c := realDriver(t, redislock.Options{JournalLines: 20})
	key := names(1)[0]
	due := open(t, d, c, key)
	waitOn(t, c, 41*time.Millisecond)
	next := func(d *redislock.Driver) (number int64) {
		number, due = due, due+1
		asked := claimOf(key, "n/1", number)
		asked.Overlap = series.OverlapAllow
		a := claim(t, d, asked, series.KindGranted)
		must(t, d.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: runOf(asked, a), Outcome: series.OutcomeFailed}})[0].Err)
		return number
	}
	for range 40 {
		next(d)
	}
	last := next(newDriver(t, c, redislock.Options{JournalLines: 2}))
	j, err := d.Journal(t.Context(), key, 0)
	if err != nil || len(j.Lines) == 0 || j.Lines[len(j.Lines)-1].To != last {
		t.Errorf("the journal is %+v, %v, and %d was the last tick", j.Lines, err, last)
	}
}

// The journals of a namespace stay within their bytes: the series that writes loses lines, and the
// newest line of each series stays.
func TestJournalBudget(t *testing.T) {
	const budget = 20_000
	d, c := realDriver(t, redislock.Options{JournalBytes: budget})
	keys := names(40)
	history(t, d, c, keys[:20], 3) // these write no more
	quiet, _, _ := weights(t, c, keys[:20])
	history(t, d, c, keys[20:], 60)
	counted, bytes, lines := weights(t, c, keys)
	if counted != bytes || counted > budget || counted < budget*3/4 {
		t.Errorf("the counter says %d, the lines have %d, want about %d", counted, bytes, budget)
	}
	var memory int64
	for _, key := range keys {
		memory += c.MemoryUsage(t.Context(), "cronce:v1:{cronce.0}:j:"+key, 0).Val()
	}
	if memory > 2*budget {
		t.Errorf("%d lines take %d bytes of memory, want at most twice %d", lines, memory, budget)
	}
	_, still, _ := weights(t, c, keys[:20])
	if still != quiet {
		t.Errorf("series that write no more went from %d to %d bytes", quiet, still)
	}
	for _, key := range keys {
		if j, err := d.Journal(t.Context(), key, 1); err != nil || len(j.Lines) != 1 {
			t.Errorf("%s: %+v, %v", key, j, err)
		}
	}
}

// A counter that has lost count, because keys expired, is set right by the next
// Open over the budget, and series that are gone are listed no more.
func TestJournalIsRecounted(t *testing.T) {
	d, c := realDriver(t, redislock.Options{JournalBytes: 20_000})
	keys := names(12)
	history(t, d, c, keys, 10)
	for _, gone := range keys[:11] {
		for _, kind := range "sjd" {
			must(t, c.Del(t.Context(), fmt.Sprintf("cronce:v1:{cronce.0}:%c:%s", kind, gone)).Err())
		}
	}
	must(t, c.Set(t.Context(), "cronce:v1:{cronce.0}:jb", 1_000_000, 0).Err())
	open(t, d, c, keys[11])
	counted, bytes, _ := weights(t, c, keys)
	if counted < bytes*3/4 || counted > bytes*5/4 {
		t.Errorf("the counter says %d, the lines have %d", counted, bytes)
	}
	if all := c.SMembers(t.Context(), "cronce:v1:{cronce.0}:all").Val(); len(all) != 1 {
		t.Errorf("the series are %q", all)
	}
}

// Keys lists the series that exist, and not those that have expired.
func TestKeysOfExpired(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	open(t, d, c, "a", "b")
	must(t, c.Del(t.Context(), "cronce:v1:{cronce.0}:s:a", "cronce:v1:{cronce.0}:j:a", "cronce:v1:{cronce.0}:d:a").Err())
	keys, err := d.Keys(t.Context())
	must(t, err)
	if fmt.Sprint(keys) != "[b]" {
		t.Errorf("the keys are %q", keys)
	}
}

// Every key of a series expires unless the series is used: a look at one that
// would expire soon keeps it, one at a fresh series writes nothing.
func TestExpiry(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	due := open(t, d, c, "job")
	claim(t, d, claimOf("job", "a/1", due), series.KindGranted)
	acquire(t, d, "key", "a/2")
	if _, err := d.Beat(t.Context(), series.Beat{Node: "a", TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	keys := c.Keys(t.Context(), "*").Val()
	for _, key := range keys {
		if left := c.PTTL(t.Context(), key).Val(); left <= 0 || left > 90*day {
			t.Errorf("%s expires in %v", key, left)
		}
		if strings.HasPrefix(key, "cronce:v1:{cronce.0}:") && !strings.HasSuffix(key, ":nodes") {
			must(t, c.PExpire(t.Context(), key, 10*day).Err())
		}
	}
	d.ReadSeries(t.Context(), []string{"job"})
	must(t, c.ConfigResetStat(t.Context()).Err())
	d.ReadSeries(t.Context(), []string{"job"})
	if n := calls(t, c, "pexpire"); n != 1 { // the one that proves a master
		t.Errorf("a look at a fresh series expired %d keys", n)
	}
	for _, key := range keys {
		if left := c.PTTL(t.Context(), key).Val(); strings.Contains(key, "job") && left < 89*day {
			t.Errorf("%s expires in %v", key, left)
		}
	}
	must(t, d.KeepOutput(t.Context(), series.Output{Key: "job", Number: due, Fence: 1, Text: "text"}))
	if left := c.PTTL(t.Context(), "cronce:v1:{cronce.0}:o:job").Val(); left < 89*day || left > 90*day {
		t.Errorf("the outputs expire in %v", left)
	}
}

// A series that is opened again keeps its keys, and those of its partition.
func TestExpiryOfOpened(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	open(t, d, c, "job")
	must(t, d.Control(t.Context(), series.Control{Key: "job", Action: series.ActionPause, Op: "op", Who: "ann", Reason: "for the test", Seen: series.AnySeen}).Err)
	keys := c.Keys(t.Context(), "cronce:v1:{cronce.0}:*").Val() // with the audit
	for _, key := range keys {
		must(t, c.PExpire(t.Context(), key, time.Hour).Err())
	}
	open(t, d, c, "job")
	for _, key := range keys {
		if left := c.PTTL(t.Context(), key).Val(); left < 24*time.Hour {
			t.Errorf("%s expires in %v", key, left)
		}
	}
	if len(keys) < 7 {
		t.Errorf("only %q", keys)
	}
}

// The start of a shard keeps the sheet; its renewal and its end keep the state, too.
func TestExpiryOfSheets(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	due := open(t, d, c, "job")
	starts := func(owner string) (series.Claim, series.Answer) {
		asked := claimOf("job", owner, due)
		asked.Sharding = &series.Sharding{Shards: 2, Params: []string{"", ""}, Want: []int{0, 1}, Most: 1}
		return asked, claim(t, d, asked, series.KindGranted)
	}
	asked, a := starts("a/1")
	shard := series.RunRef{Key: "job", Number: a.Number, Owner: asked.Owner, Fence: a.Shards[0].Fence, TTL: time.Minute, Shard: a.Shards[0].Shard, Shards: a.Of}
	for _, change := range []struct {
		name string
		step func()
		kept []string
	}{
		{"the start of another shard", func() { starts("b/1") }, []string{"t:job"}},
		{"a renewal", func() { must(t, d.RenewRuns(t.Context(), []series.RunRef{shard})[0].Err) }, []string{"s:job", "t:job"}},
		{"an end", func() {
			must(t, d.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: shard, Outcome: series.OutcomeOK, OK: true}})[0].Err)
		}, []string{"s:job", "t:job"}},
	} {
		for _, key := range change.kept {
			must(t, c.PExpire(t.Context(), "cronce:v1:{cronce.0}:"+key, time.Hour).Err())
		}
		change.step()
		for _, key := range change.kept {
			if left := c.PTTL(t.Context(), "cronce:v1:{cronce.0}:"+key).Val(); left < 24*time.Hour {
				t.Errorf("after %s %s expires in %v", change.name, key, left)
			}
		}
	}
}

// A claim on another day than the last keeps the series' keys.
func TestExpiryOfClaimed(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	due := open(t, d, c, "job")
	prefix := "cronce:v1:{cronce.0}:"
	must(t, c.HSet(t.Context(), prefix+"s:job", "m", due-2*86_400_000).Err())
	for _, key := range []string{"s:job", "j:job", "jb", "ch"} {
		must(t, c.PExpire(t.Context(), prefix+key, time.Hour).Err())
	}
	claim(t, d, claimOf("job", "a/1", due), series.KindGranted)
	for _, key := range []string{"s:job", "j:job", "jb", "ch"} {
		if left := c.PTTL(t.Context(), prefix+key).Val(); left < 24*time.Hour {
			t.Errorf("%s expires in %v", key, left)
		}
	}
}
