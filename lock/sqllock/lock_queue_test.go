package sqllock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// A queue is read in the order of its index: a hand-over reads the head alone, and a probe reads
// the places before its waiter. A long queue costs no more than a short one. This also holds if the
// statistics of PostgreSQL say that there is no queue, as they do most of the time.
func TestQueueIsIndexed(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		if on.dialect == sqllock.PostgreSQL {
			_, err := db.Exec("VACUUM ANALYZE cronce_places")
			must(t, err)
		}
		const places = 2000
		for first := 0; first < places; first += 500 {
			rows := make([]string, 500)
			for i := range rows {
				rows[i] = fmt.Sprintf("('cronce', 'key', 'n/%d', 'party', 1, 60000000, 0, 0)", first+i)
			}
			_, err := db.Exec("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES " +
				strings.Join(rows, ", "))
			must(t, err)
		}
		_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "new", Owner: "holder/1", TTL: minute})
		must(t, err)
		_, err = db.Exec("UPDATE cronce_leases SET name = 'key'") // held, with a queue
		must(t, err)
		heads, probe, args := d.QueuePlans("key", time.Now().UnixMicro())
		for text, args := range heads {
			p := plan(t, db, on.dialect, text, args)
			for _, bad := range []string{"Seq Scan on cronce_places", "Filter: (place = ", "Sort", "filesort", "TEMP B-TREE"} {
				if strings.Contains(p, bad) {
					t.Errorf("%s\n%s\n%s", bad, text, p)
				}
			}
		}
		want := map[sqllock.Dialect]string{
			sqllock.PostgreSQL: "AND (place < p.place)", sqllock.MySQL: `"key": "PRIMARY"`, sqllock.SQLite: "cronce_places_by_name (ns=? AND name=? AND place<?)",
		}[on.dialect]
		if p := plan(t, db, on.dialect, probe, args); !strings.Contains(p, want) {
			t.Errorf("%s\n%s", probe, p)
		}
	})
}

// A key that owners wait for is passed to the first of them, after its release and after its
// deadline, and the others keep their places. A key of the same name in another namespace is free,
// and so is another key.
func TestQueueIsOfItsKey(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		other := newDriver(t, on.connect(t), on.dialect, sqllock.Options{Namespace: "other"})
		other.ClockFrom("(SELECT us FROM clock)")
		const now = int64(1_795_207_852_937_000)
		set(now)
		fences := map[string]int64{}
		try := func(owner string) (held string) {
			for _, key := range []string{"freed", "expired"} {
				for ns, d := range map[string]*sqllock.Driver{"cronce": d, "other": other} {
					g, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: owner, TTL: minute})
					switch {
					case isHeld(err):
						held += ns + "/" + key + " "
					case err != nil:
						t.Fatal(err)
					}
					fences[ns+"/"+key] = g.Fence
				}
			}
			return held
		}
		waits := func(key string) {
			for _, owner := range []string{"waiter/1", "waiter/2"} {
				run(fmt.Sprintf("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES ('cronce', '%s', '%s', 'elsewhere', 1, 60000000, 0, 0)", key, owner))
			}
		}
		if held := try("n/1"); held != "" {
			t.Fatalf("%s is held", held)
		}
		waits("freed")
		for ns, d := range map[string]*sqllock.Driver{"cronce": d, "other": other} {
			must(t, d.Release(t.Context(), driver.LeaseRef{Key: "freed", Owner: "n/1", Fence: fences[ns+"/freed"]}))
			want := driver.KeyState{}
			if ns == "cronce" {
				want = driver.KeyState{Owner: "waiter/1", Left: sqllock.Reserved, Waiting: 1}
			}
			if at, err := d.Inspect(t.Context(), "freed"); err != nil || at != want {
				t.Errorf("after the release in %s the key is %+v, %v, want %+v", ns, at, err, want)
			}
		}
		if left := strings.Join(strings.Fields(texts(t, on.connect(t), "SELECT name, owner FROM cronce_places")), " "); left != "freed waiter/2" {
			t.Errorf("after the releases the places are %q, want that of the second waiter", left)
		}
		if got, want := strings.TrimSpace(texts(t, on.connect(t), "SELECT until_us FROM cronce_leases WHERE ns = 'cronce' AND name = 'freed'")), fmt.Sprint(now+sqllock.Reserved.Microseconds()); got != want {
			t.Errorf("the key is kept until %s, want %s", got, want)
		}
		if held := try("n/1"); held != "cronce/freed " {
			t.Errorf("after the releases %q are held, want the key that is passed on", held)
		}
		run("DELETE FROM cronce_places")
		waits("expired")
		set(now + minute.Microseconds())
		if held := try("n/2"); !strings.Contains(held, "cronce/expired ") || strings.Contains(held, "other/") {
			t.Errorf("after the deadlines %q are held, want the key that is passed on", held)
		}
	})
}

// A request that cannot read the queue is doubt and changes nothing, also when several owners share
// the key.
func TestUnreadableQueue(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		set(1_795_207_852_937_000)
		a := driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute, Limit: 3}
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		run("DROP TABLE cronce_places")
		before := texts(t, on.connect(t), "SELECT owner, fence, holders FROM cronce_leases")
		if err := d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: "n/1", Fence: g.Fence, Limit: 3}); err == nil {
			t.Error("the release is no doubt")
		}
		if _, err := d.Force(t.Context(), driver.ForceRequest{Key: "key", ID: "1", By: "operator", Reason: "stuck"}); err == nil {
			t.Error("the forced unlock is no doubt")
		}
		a.Owner = "n/2"
		if _, err := d.Acquire(t.Context(), a); err == nil || isHeld(err) {
			t.Errorf("the request for the key is answered %v", err)
		}
		if after := texts(t, on.connect(t), "SELECT owner, fence, holders FROM cronce_leases"); after != before {
			t.Errorf("the row is now\n%s, was\n%s", after, before)
		}
	})
}

// A release that was cancelled on its way has passed the key to an owner that could not give its place up: the key is
// freed all the same.
func TestGrantToAnAbandonedOwner(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
		g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute})
		must(t, err)
		d.Abandoned("n/1")
		ctx, stop := context.WithCancel(t.Context())
		stop()
		d.Give(ctx, "key", "n/1", g)
		all, err := d.Holders(t.Context(), "key")
		must(t, err)
		if len(all) != 0 {
			t.Errorf("the holders are %+v, want none", all)
		}
	})
}

// A place of an owner that holds the key, as a lost reply may leave it, goes without a second entry among the holders.
func TestPlaceOfAHolder(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		set(1_795_207_852_937_000)
		s := &stage{T: t, d: d, key: "key"}
		s.share("n/1")
		s.share("n/2")
		run("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES ('cronce', 'key', 'n/1', 'elsewhere', 2, 60000000, 0, 0)")
		s.release()
		s.holders("n/1")
		if at, err := d.Inspect(t.Context(), "key"); err != nil || at.Waiting != 0 {
			t.Errorf("the key stands at %+v, %v", at, err)
		}
	})
}

// slow makes a driver read a slow clock, so that a key is still kept for its next owner on a machine that stands still for seconds.
func slow(d *sqllock.Driver) *sqllock.Driver {
	d.ClockFrom("({clock} {divide} 100)")
	return d
}

// A process that may pass a key on inside does not do so while it is not known that the place is of its own owner.
func TestInsideOfUnknownProcess(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		s := &stage{T: t, d: slow(newDriver(t, db, on.dialect, sqllock.Options{Inside: 2})), key: "key"}
		s.acquire("n/1")
		leave, _ := s.d.Arrive("key", "n/2")
		defer leave()
		for _, place := range []string{"'first/1', 'elsewhere'", "'n/2', ''"} {
			_, err := db.Exec("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES ('cronce', 'key', " + place + ", 1, 60000000, 0, 0)")
			must(t, err)
		}
		s.release()
		s.holders("first/1")
	})
}

// A release wakes the owner for which it keeps the key, also if the place does not say that the owner is of this process:
// behind another owner of the process it would probe once a minute.
func TestKeptOwnerIsWoken(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		s := &stage{T: t, d: newDriver(t, db, on.dialect, sqllock.Options{}), key: "key"}
		s.acquire("n/1")
		leave, _ := s.d.Arrive("key", "n/2") // it does not probe
		defer leave()
		served := make(chan error, 1)
		go func() {
			_, err := s.d.Wait(t.Context(), s.acquisition("n/3"))
			served <- err
		}()
		eventually(t, "it waits", func() bool {
			at, err := s.d.Inspect(t.Context(), "key")
			return err == nil && at.Waiting == 1
		})
		_, err := db.Exec("UPDATE cronce_places SET party = ''")
		must(t, err)
		began := time.Now()
		s.release()
		must(t, <-served)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("it is served after %v", took)
		}
	})
}

// An owner that barges in sends the owner for which the key was kept back to its place, where it owes a sign of life.
func TestBargedOwnerIsAsked(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, _ := standing(t, on)
		const now = int64(1_795_207_852_937_000)
		set(now)
		s := &stage{T: t, d: d, key: "key"}
		s.acquire("n/1")
		_ = d.Abandon(t.Context(), s.acquisition("n/2"))
		s.release()
		a := s.acquisition("n/3")
		a.Barge = true
		_, err := d.Acquire(t.Context(), a)
		must(t, err)
		if got, want := strings.Fields(texts(t, on.connect(t), "SELECT owner, asked_us FROM cronce_places")), fmt.Sprint("[n/2 ", now, "]"); fmt.Sprint(got) != want {
			t.Errorf("the place is %v, want %s", got, want)
		}
	})
}

// A key that one of two holders releases is not passed on inside to an owner that wants it alone.
func TestInsideBesideAHolder(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		s := &stage{T: t, d: newDriver(t, on.connect(t), on.dialect, sqllock.Options{Inside: 2}), key: "key"}
		s.share("n/1")
		s.share("n/2")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.d.Wait(ctx, s.acquisition("n/3"))
			ended <- err
		}()
		eventually(t, "it waits", func() bool {
			at, err := s.d.Inspect(t.Context(), "key")
			return err == nil && at.Waiting == 1
		})
		s.release()
		s.holders("n/1")
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("its wait ends with %v", err)
		}
	})
}

// A key that is granted, also by a release to the next owner, counts as used on that day.
func TestGrantedKeyIsUsed(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		const now = int64(1_795_207_852_937_000)
		set(now)
		s := &stage{T: t, d: d, key: "key"}
		used := func() {
			t.Helper()
			if got, want := strings.TrimSpace(texts(t, on.connect(t), "SELECT used_day FROM cronce_leases")), fmt.Sprint(now/86_400_000_000); got != want {
				t.Errorf("the day of its last use is %s, want %s", got, want)
			}
		}
		s.acquire("n/1")
		s.release()
		run("UPDATE cronce_leases SET used_day = 1")
		s.acquire("n/1")
		used()
		served := make(chan error, 1)
		go func() {
			_, err := d.Wait(t.Context(), s.acquisition("n/2"))
			served <- err
		}()
		eventually(t, "it waits", func() bool {
			at, err := d.Inspect(t.Context(), "key")
			return err == nil && at.Waiting == 1
		})
		run("UPDATE cronce_leases SET used_day = 1")
		s.release()
		must(t, <-served)
		used()
	})
}

// A forced unlock keeps the key for the next owner in the queue, as a release does.
func TestForcePassesTheKey(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		s := &stage{T: t, d: slow(newDriver(t, on.connect(t), on.dialect, sqllock.Options{})), key: "key"}
		s.acquire("n/1")
		_ = s.d.Abandon(t.Context(), s.acquisition("n/2"))
		_, err := s.d.Force(t.Context(), driver.ForceRequest{Key: "key", ID: "1", By: "operator", Reason: "stuck"})
		must(t, err)
		s.holders("n/2")
	})
}

// An owner that wants the key alone gives up. Its place kept another from sharing the key, which is now kept for that one.
func TestLeavingServesSharers(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		s := &stage{T: t, d: slow(newDriver(t, on.connect(t), on.dialect, sqllock.Options{})), key: "key"}
		s.share("n/1")
		leave, err := s.d.Place(t.Context(), s.acquisition("n/2"))
		must(t, err)
		_ = s.d.Abandon(t.Context(), s.sharing("n/3"))
		s.holders("n/1")
		must(t, leave(t.Context()))
		s.holders("n/1", "n/3")
	})
}
