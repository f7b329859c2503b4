package zklock_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/zklock"
)

// open registers series and returns a number that is due in each.
func open(t *testing.T, d *zklock.Driver, keys ...string) int64 {
	t.Helper()
	os := make([]series.OpenRequest, len(keys))
	for i, key := range keys {
		os[i] = series.OpenRequest{Key: key, Node: "n", Revision: "r1"}
	}
	var due int64
	for _, is := range d.Open(t.Context(), os) {
		must(t, is.Err)
		due = max(due, is.Mark+1)
	}
	waitOn(t, d, 5*time.Millisecond)
	return due
}

func claimOf(key, owner string, number int64) series.Claim {
	return series.Claim{Key: key, Owner: owner, Number: number, After: number - 1, TTL: time.Minute, Deadline: time.Hour,
		Attempts: 3, Window: time.Hour, Latest: driver.MaxNumber, Revision: "r1"}
}

// A claim and an ending were carried out and their replies were lost: their owner is in doubt,
// repeats them, and gets the same answers, with the same fence.
func TestLostReplyOfAClaim(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	p := newProxy(t, addr)
	d := newDriver(t, p.addr(), zklock.Options{Session: time.Minute})
	direct := newDriver(t, addr, zklock.Options{Session: time.Minute})
	due := open(t, d, "job")
	c := claimOf("job", "a/1", due)
	claim := func() (series.Answer, error) {
		a := d.Claim(t.Context(), []series.Claim{c})[0]
		return a, a.Err
	}
	lose(t, p, 3, func() error { _, err := claim(); return err }) // the series, the clock, and the write
	seen := direct.Claim(t.Context(), []series.Claim{claimOf("job", "b/1", due)})[0]
	if seen.Kind != series.KindPassed || seen.Node != "a" {
		t.Fatalf("to others it looks so: %+v", seen)
	}
	a := settled(t, claim)
	if a.Kind != series.KindGranted || a.Fence != seen.Fence || a.Attempt != 1 {
		t.Errorf("asked again: %+v, the store had the fence %d", a, seen.Fence)
	}
	e := series.EndRequest{RunRef: series.RunRef{Key: "job", Number: due, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL}, OK: true, Outcome: "ok"}
	end := func() (series.EndAnswer, error) {
		ended := d.ReleaseRuns(t.Context(), []series.EndRequest{e})[0]
		return ended, ended.Err
	}
	lose(t, p, 3, func() error { _, err := end(); return err })
	if again := settled(t, end); !again.Ended {
		t.Errorf("the ending asked again: %+v", again)
	}
	j, err := direct.Journal(t.Context(), "job", 0)
	must(t, err)
	if len(j.Lines) != 2 {
		t.Errorf("the journal is %+v", j.Lines)
	}
}

// Six sessions claim the same numbers of the same series at the same time, again and again, while
// the journals outgrow a node: each number is granted once and has one line.
func TestManySessions(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	ds := make([]*zklock.Driver, 6)
	for i := range ds {
		ds[i] = newDriver(t, addr, zklock.Options{Session: time.Minute})
	}
	keys := make([]string, 4)
	for i := range keys {
		keys[i] = fmt.Sprint("job-", i)
	}
	due := open(t, ds[0], keys...)
	const numbers = 40
	waitOn(t, ds[0], numbers*time.Millisecond)
	for number := due; number < due+numbers; number++ {
		grants := make([]atomic.Int32, len(keys))
		var wg sync.WaitGroup
		for i, d := range ds {
			cs := make([]series.Claim, len(keys))
			for k, key := range keys {
				cs[k] = claimOf(key, fmt.Sprintf("n%d/%d", i, number), number)
				cs[k].Overlap = series.OverlapAllow
			}
			wg.Go(func() {
				for k, a := range d.Claim(t.Context(), cs) {
					switch a.Kind {
					case series.KindGranted:
						grants[k].Add(1)
					case series.KindPassed:
					default:
						t.Errorf("%s: %+v", keys[k], a)
					}
				}
			})
		}
		wg.Wait()
		for k := range grants {
			if n := grants[k].Load(); n != 1 {
				t.Errorf("%d grants of %d of %s", n, number, keys[k])
			}
		}
	}
	for _, key := range keys {
		j, err := ds[1].Journal(t.Context(), key, 0)
		must(t, err)
		if n := len(j.Lines); n != 1+numbers || j.Truncated {
			t.Errorf("%s has %d lines, truncated %v", key, n, j.Truncated)
		}
	}
}

// miss lets the next numbers of a series be missed, with two revisions in turn, so that no lines
// fold.
func miss(t *testing.T, d *zklock.Driver, key string, from, n int64) {
	t.Helper()
	waitOn(t, d, time.Duration(n+10)*time.Millisecond)
	for ; n > 0; n, from = n-20, from+20 {
		missAtOnce(t, d, key, from, min(n, 20))
	}
}

// missAtOnce lets the next numbers of a series be missed in one step.
func missAtOnce(t *testing.T, d *zklock.Driver, key string, from, n int64) {
	t.Helper()
	cs := make([]series.Claim, n)
	for i := range cs {
		cs[i] = claimOf(key, fmt.Sprintf("n/%d", from), from)
		cs[i].Deadline, cs[i].Revision = 0, fmt.Sprint("r", from%2)
		from++
	}
	for i, a := range d.Claim(t.Context(), cs) {
		if a.Kind != series.KindMissed {
			t.Fatalf("claim %d: %+v", i, a)
		}
	}
}

// The journals of a namespace share a budget, and dropped lines are removed with their nodes. Each
// series keeps its newest lines, however many lines the others have.
func TestJournalBudget(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	for _, c := range []struct {
		budget      int64
		least, most int // lines
		nodes       int // including one for the revisions
	}{
		{budget: 20_000, least: 50, most: 120, nodes: 7},
		{budget: 1, least: 16, most: 17, nodes: 1},
	} {
		d := newDriver(t, addr, zklock.Options{Namespace: fresh(), JournalBytes: c.budget})
		due := open(t, d, "a", "b")
		for _, key := range []string{"a", "b"} {
			miss(t, d, key, due, 200)
			j, err := d.Journal(t.Context(), key, 0)
			must(t, err)
			all := slices.Concat(j.Exceptions, j.Lines)
			if n := len(all); n < c.least || n > c.most || !j.Truncated || all[n-1].To != due+199 {
				t.Errorf("of %d bytes %s keeps %d lines, truncated %v", c.budget, key, n, j.Truncated)
			}
			if since := j.ExceptionsSince; since == 0 || since > all[0].At {
				t.Errorf("of %d bytes the exceptions of %s are complete since %d, and the oldest line is of %d", c.budget, key, since, all[0].At)
			}
			withoutGap(t, all)
			names, _, err := op.Children(d.SeriesPath(key))
			must(t, err)
			if len(names) > c.nodes {
				t.Errorf("of %d bytes %s has the nodes %q", c.budget, key, names)
			}
			var bytes int64
			for _, name := range names {
				if data, _, err := op.Get(d.SeriesPath(key) + "/" + name); strings.HasPrefix(name, "lines") {
					must(t, err)
					bytes += int64(len(data))
				}
			}
			if bytes > c.budget/2 {
				t.Errorf("of %d bytes %s has %d, want at most half", c.budget, key, bytes)
			}
		}
	}
}

// Journals full of the longest texts of errors stay within their limit in bytes, except for the
// newest lines of each series, which have few texts. No node is longer than ZooKeeper accepts.
func TestJournalsOfErrors(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	const writers, rounds, newest = 3, 40, 4096 + series.MaxErrorText // bytes of error texts that a series has in its own node
	for _, budget := range []int64{30_000, 1} {
		d := newDriver(t, addr, zklock.Options{Namespace: fresh(), JournalBytes: budget})
		keys := []string{"a", "b", "c"}
		due := open(t, d, keys...)
		waitOn(t, d, (rounds+10)*time.Millisecond)
		for round := range int64(rounds) {
			var cs []series.Claim
			for _, key := range keys {
				cs = append(cs, claimOf(key, fmt.Sprintf("n/%d", round), due+round))
			}
			var es []series.EndRequest
			for i, a := range d.Claim(t.Context(), cs) {
				if a.Kind != series.KindGranted {
					t.Fatalf("the answer is %+v", a)
				}
				es = append(es, series.EndRequest{RunRef: series.RunRef{Key: keys[i], Number: cs[i].Number, Owner: cs[i].Owner, Fence: a.Fence, TTL: cs[i].TTL},
					Outcome: series.OutcomeFailed, Error: strings.Repeat(fmt.Sprint(round%10), series.MaxErrorText)})
			}
			for _, e := range d.ReleaseRuns(t.Context(), es) {
				if !e.Ended {
					t.Fatalf("the end of a run: %+v", e)
				}
			}
			if budget == 1 { // only the newest lines are kept
				j, err := d.Journal(t.Context(), keys[0], 0)
				must(t, err)
				if n := texts(&j); n > newest {
					t.Fatalf("round %d: the newest lines have texts of %d bytes, want at most %d", round, n, newest)
				}
			}
		}
		bytes := 0
		for _, key := range keys {
			j, err := d.Journal(t.Context(), key, 0)
			must(t, err)
			if n := len(j.Lines); n == 0 || j.Lines[n-1].To != due+rounds-1 || j.Lines[n-1].Error == "" {
				t.Errorf("of %d bytes: the newest of %d lines of %s is not there, or not whole", budget, n, key)
			}
			bytes += texts(&j)
			names, _, err := op.Children(d.SeriesPath(key))
			must(t, err)
			for _, name := range append(names, "") {
				path := strings.TrimSuffix(d.SeriesPath(key)+"/"+name, "/")
				if data, _, err := op.Get(path); err != nil || len(data) > newest+16*400 {
					t.Errorf("of %d bytes: %s has %d bytes, %v", budget, path, len(data), err)
				}
			}
		}
		if limit := budget + writers*newest; int64(bytes) > limit || bytes == 0 {
			t.Errorf("of %d bytes: the texts have %d, want at most %d", budget, bytes, limit)
		}
	}
}

// texts returns the bytes of the errors in a journal.
func texts(j *series.Journal) (bytes int) {
	for _, l := range slices.Concat(j.Exceptions, j.Lines) {
		bytes += len(l.Error)
	}
	return bytes
}

// Data that a newer version has written is doubt, and is left unchanged.
func TestNewerFormat(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	d := newDriver(t, addr, zklock.Options{})
	due := open(t, d, "job")
	data := fmt.Appendf(nil, `{"format":%d,"mark":1}`, series.Format+1)
	_, err := op.Set(d.SeriesPath("job"), data, -1)
	must(t, err)
	if a := d.Claim(t.Context(), []series.Claim{claimOf("job", "a/1", due)})[0]; a.Kind != series.KindUnknown || a.Err == nil {
		t.Errorf("a claim: %+v", a)
	}
	if is := d.ReadSeries(t.Context(), []string{"job"})[0]; is.Err == nil {
		t.Errorf("a look: %+v", is)
	}
	if is, _, err := op.Get(d.SeriesPath("job")); err != nil || string(is) != string(data) {
		t.Errorf("the node holds %q, %v", is, err)
	}
}
