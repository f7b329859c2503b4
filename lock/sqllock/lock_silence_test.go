package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// Silence counts for as long as the database has answered each probe in time and without a step of
// its clock.
func TestWatch(t *testing.T) {
	type probe struct {
		now  int64 // µs
		took time.Duration
	}
	const s, ms = int64(1_000_000), int64(1_000)
	steady := []probe{{100 * s, 0}, {101 * s, 0}, {102 * s, 0}}
	for name, c := range map[string]struct {
		then []probe
		want int64
	}{
		"a µs too soon":                          {[]probe{{103*s - 1, 0}}, 0},
		"long enough":                            {[]probe{{103 * s, 0}}, 100 * s},
		"longer":                                 {[]probe{{103 * s, 0}, {105 * s, 0}}, 102 * s},
		"just in time":                           {[]probe{{103 * s, 500 * time.Millisecond}}, 100 * s},
		"a probe in flight while it stood":       {[]probe{{105 * s, 500*time.Millisecond + 1}}, 0},
		"long enough since then":                 {[]probe{{105 * s, 3 * time.Second}, {106 * s, 0}, {108 * s, 0}}, 105 * s},
		"not long enough since then":             {[]probe{{105 * s, 3 * time.Second}, {106 * s, 0}, {108*s - 1, 0}}, 0},
		"the slowest pace":                       {[]probe{{102*s + 6250*ms, 0}}, 105*s + 250*ms},
		"nothing seen for longer":                {[]probe{{102*s + 6250*ms + 1, 0}}, 0},
		"a clock that steps forward":             {[]probe{{220 * s, 0}}, 0},
		"a clock that steps back":                {[]probe{{102*s - 500*ms - 1, 0}, {103 * s, 0}}, 0},
		"answers of two probes in another order": {[]probe{{102*s - 500*ms, 0}, {103 * s, 0}}, 100 * s},
		"a request without an answer":            {[]probe{{now: -1}, {103 * s, 0}}, 0},
	} {
		w := sqllock.NewWatch()
		var got int64
		for _, l := range append(steady, c.then...) {
			if l.now < 0 {
				w.Missed()
				continue
			}
			got = w.Saw(l.now, l.took)
		}
		if got != c.want {
			t.Errorf("%s: silent since %d µs, want %d", name, got, c.want)
		}
	}
}

// A writer that does not answer gets a request for a sign of life from a reader's try, and a second
// one from a try 3 seconds later or more. A try 3 seconds after that passes it over, to the µs. A
// try has not watched the database, so it needs the second request. An owner behind the writer, or
// that waits for another key, gets no request for this, and no second one sooner.
func TestSilenceOfTries(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		const now, second, silence = int64(1_795_207_852_937_000), int64(1_000_000), int64(3_000_000)
		set(now)
		try := func(owner string) error {
			_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: owner, TTL: minute, Limit: driver.NoLimit})
			return err
		}
		must(t, try("holder/1"))
		db := on.connect(t)
		enter := func(ns, key, owner string, most int, asked int64) {
			run(fmt.Sprintf("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES ('%s', '%s', '%s', 'elsewhere', %d, 60000000, 0, %d)",
				ns, key, owner, most, asked))
		}
		for owner, asked := range map[string]int64{"a/1": now, "a/2": 0} {
			enter("cronce", "another", owner, 1, asked)
			enter("other", "key", owner, 1, asked)
		}
		enter("cronce", "key", "writer/1", 1, 0)
		enter("cronce", "key", "later/1", driver.NoLimit, now+10*second-silence+1)
		enter("cronce", "key", "later/2", driver.NoLimit, 0)
		const columns, others = "SELECT ns, name, owner, asked_us FROM cronce_places WHERE owner ", " <> 'writer/1' ORDER BY ns, name, owner"
		before := texts(t, db, columns+others)
		for _, c := range []struct{ at, asked int64 }{
			{0, now}, {silence - 1, now}, {10 * second, -now - 10*second}, {13*second - 1, -now - 10*second},
		} {
			set(now + c.at)
			if err := try("reader/1"); !isHeld(err) {
				t.Fatalf("after %d µs: %v, want that it is held", c.at, err)
			}
			if got, want := strings.Fields(texts(t, db, columns+"= 'writer/1'")), fmt.Sprint("[cronce key writer/1 ", c.asked, "]"); fmt.Sprint(got) != want {
				t.Errorf("after %d µs: the place is %v, want %s", c.at, got, want)
			}
			if after := texts(t, db, columns+others); after != before {
				t.Errorf("after %d µs: the other places are\n%s, were\n%s", c.at, after, before)
			}
		}
		set(now + 13*second)
		must(t, try("reader/1"))
	})
}

// A last request for a sign of life that reaches the database more than half a second after the probe changes nothing: the
// database may have stood still. An owner that was silent for a µs too short gets none.
func TestLateReminder(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		const now, silence, late = int64(1_795_207_852_937_000), int64(3_000_000), int64(500_000)
		for owner, asked := range map[string]int64{"silent": now - silence, "slow": now - silence + 1} {
			run(fmt.Sprintf("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES ('cronce', 'key', '%s', 'elsewhere', 1, 1, 0, %d)", owner, asked))
		}
		for _, row := range []struct{ arrives, silent int64 }{{now + late + 1, now - silence}, {now + late, 2_000_000 - now}} {
			set(row.arrives)
			must(t, d.Remind(t.Context(), "key", now, now-silence))
			got := strings.Fields(texts(t, on.connect(t), "SELECT asked_us FROM cronce_places ORDER BY owner"))
			if want := fmt.Sprint([]int64{row.silent, now - silence + 1}); fmt.Sprint(got) != want {
				t.Errorf("%d µs after the probe: the owners are asked at %v, want %s", row.arrives-now, got, want)
			}
		}
	})
}

// A sign of life counts for all owners of its process that wait for the key, and for no other
// place. It names the process of those owners, and the TTL and the last fence of its own owner.
func TestSignOfLife(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		const now = int64(1_795_207_852_937_000)
		set(now)
		_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "holder/1", TTL: minute})
		must(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		for i, owner := range []string{"n/1", "n/2"} {
			wg.Go(func() {
				_, _ = d.Wait(ctx, driver.Acquisition{Key: "key", Owner: owner, TTL: time.Duration(i+1) * minute, Fence: int64(7 + i)}) // Wait ends with the context
			})
			eventually(t, "it waits", func() bool {
				at, err := d.Inspect(t.Context(), "key")
				return err == nil && at.Waiting == i+1
			})
		}
		db := on.connect(t)
		party := strings.TrimSpace(texts(t, db, "SELECT party FROM cronce_places WHERE owner = 'n/2'"))
		for _, place := range []string{"'cronce', 'key', 'other/1', 'elsewhere'", "'cronce', 'another', 'n/1', 'elsewhere'", "'cronce', 'another', 'n/2', '" + party + "'", "'elsewhere', 'key', 'n/1', 'elsewhere'"} {
			run(fmt.Sprintf("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES (%s, 1, 1, 1, %d)", place, now))
		}
		// The place of n/1 was restored, so its process is not known.
		run(fmt.Sprintf("UPDATE cronce_places SET party = CASE WHEN owner = 'n/1' THEN '' ELSE party END, ttl_us = CASE WHEN owner = 'n/1' THEN 1 ELSE ttl_us END,"+
			" seen_fence = CASE WHEN owner = 'n/1' THEN 1 ELSE seen_fence END, asked_us = %d WHERE ns = 'cronce' AND name = 'key' AND owner <> 'other/1'", now))
		eventually(t, "the first owner gives a sign of life", func() bool {
			return strings.TrimSpace(texts(t, db, "SELECT asked_us FROM cronce_places WHERE ns = 'cronce' AND name = 'key' AND owner = 'n/1'")) == "0"
		})
		got := strings.Fields(strings.ReplaceAll(texts(t, db, "SELECT ns, name, owner, party, ttl_us, seen_fence, asked_us FROM cronce_places ORDER BY ns, name, owner"), party, "here"))
		asked := fmt.Sprint(now)
		want := strings.Fields("cronce another n/1 elsewhere 1 1 " + asked + " cronce another n/2 here 1 1 " + asked +
			" cronce key n/1 here 60000000 7 0 cronce key n/2 here 120000000 8 0 cronce key other/1 elsewhere 1 1 " + asked + " elsewhere key n/1 elsewhere 1 1 " + asked)
		if !slices.Equal(got, want) {
			t.Errorf("the places are\n%v, want\n%v", got, want)
		}
	})
}

// While nothing can be written for longer than an owner may owe a sign of life, and everything can
// be read, the writer that could not answer keeps its place before a reader.
func TestOrderOverBusyWrites(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		var cs []*contest
		for i := range 3 {
			cs = append(cs, behindWriter(t, on, fmt.Sprint("key-", i)))
		}
		conn, err := on.connect(t).Conn(t.Context())
		must(t, err)
		defer conn.Close()
		send := func(s string) {
			t.Helper()
			_, err := conn.ExecContext(t.Context(), s)
			must(t, err)
		}
		for _, c := range cs {
			c.ask(t)
		}
		switch on.dialect {
		case sqllock.PostgreSQL:
			send("BEGIN")
			send("LOCK TABLE cronce_places IN EXCLUSIVE MODE")
		case sqllock.MySQL:
			send("LOCK TABLES cronce_places READ")
		default:
			send("BEGIN IMMEDIATE")
		}
		<-time.After(4500 * time.Millisecond)
		send(map[sqllock.Dialect]string{sqllock.PostgreSQL: "COMMIT", sqllock.MySQL: "UNLOCK TABLES", sqllock.SQLite: "COMMIT"}[on.dialect])
		for _, c := range cs {
			c.answers(t)
		}
	})
}

// A contest is a key that a reader holds, a writer that waits for it, and a reader behind the
// writer, each in a process of its own. The writer's process is slow: it gets each reply 300 ms
// late.
type contest struct {
	key    string
	db     *sql.DB
	holder *sqllock.Driver
	reader chan error // the answer that the reader got
}

func behindWriter(t *testing.T, on database, key string) *contest {
	c := &contest{key: key, db: on.connect(t), reader: make(chan error, 1)}
	c.holder = newDriver(t, c.db, on.dialect, sqllock.Options{})
	_, err := c.holder.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: "holder/1", TTL: 10 * minute, Limit: driver.NoLimit})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() { stop(); wg.Wait() })
	slow, replies := on.lossyOn(t)
	replies.Late.Store(int64(300 * time.Millisecond))
	wait := func(db *sql.DB, owner string, limit, place int, end chan<- error) {
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		wg.Go(func() {
			_, err := d.Wait(ctx, driver.Acquisition{Key: key, Owner: owner, TTL: minute, Limit: limit})
			end <- err
		})
		eventually(t, "it has a place", func() bool {
			at, err := c.holder.Inspect(t.Context(), key)
			return err == nil && at.Waiting == place
		})
	}
	wait(slow, "writer/1", 1, 1, make(chan error, 1))
	wait(on.connect(t), "reader/1", driver.NoLimit, 2, c.reader)
	return c
}

// ask requests a sign of life from the writer, as the reader does every few seconds.
func (c *contest) ask(t *testing.T) {
	t.Helper()
	rs, err := c.holder.Now(t.Context())
	must(t, err)
	_, err = c.db.ExecContext(t.Context(), fmt.Sprintf("UPDATE cronce_places SET asked_us = %d WHERE name = '%s' AND owner = 'writer/1'", rs[0].Time.UnixMicro(), c.key))
	must(t, err)
}

// answers returns once the writer has answered, unless the reader was served before.
func (c *contest) answers(t *testing.T) {
	t.Helper()
	eventually(t, "the writer answers", func() bool {
		var asked int64
		err := c.db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT asked_us FROM cronce_places WHERE name = '%s' AND owner = 'writer/1'", c.key)).Scan(&asked)
		select {
		case err := <-c.reader:
			t.Errorf("the reader behind the writer is served before it: %v", err)
			return true
		default:
		}
		return err == nil && asked == 0
	})
}

// A waiter that could share a key requests a sign of life from the owners before it, and from neither itself nor an owner
// behind it: it sends none itself.
func TestSuspectsThoseBefore(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		clean, set, run := standing(t, on)
		const now = int64(1_795_207_852_937_000)
		set(now)
		s := &stage{T: t, d: clean, key: "key"}
		s.share("holder/1")
		_ = clean.Abandon(t.Context(), s.acquisition("writer/1"))
		db, l := on.lossyOn(t)
		var signs atomic.Int32
		l.Before = func(query string) error {
			if strings.HasPrefix(query, "UPDATE cronce_places SET asked_us = 0") {
				signs.Add(1)
			}
			return nil
		}
		d := newDriver(t, db, on.dialect, sqllock.Options{Poll: time.Millisecond})
		d.ClockFrom("(SELECT us FROM clock)")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := d.Wait(ctx, s.sharing("n/1"))
			ended <- err
		}()
		asked := func(owner string) string {
			return strings.TrimSpace(texts(t, on.connect(t), "SELECT asked_us FROM cronce_places WHERE owner = '"+owner+"'"))
		}
		eventually(t, "the writer is asked", func() bool { return asked("writer/1") == fmt.Sprint(now) })
		for range 2 { // the probes after it
			before := l.Calls.Load()
			eventually(t, "it has looked", func() bool { return l.Calls.Load() <= before-2 })
		}
		if signs.Load() != 0 || asked("n/1") != "0" {
			t.Errorf("it gave %d signs of life and is asked at %s", signs.Load(), asked("n/1"))
		}
		run("DELETE FROM cronce_places WHERE owner = 'writer/1'")
		stop()
		<-ended
	})
}
