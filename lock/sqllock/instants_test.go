package sqllock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// standing returns a driver whose clock, in µs, stands still unless it is set.
func standing(t *testing.T, on database) (d *sqllock.Driver, set func(us int64), run func(statement string)) {
	t.Helper()
	db := on.connect(t)
	run = func(statement string) {
		t.Helper()
		_, err := db.Exec(statement)
		must(t, err)
	}
	run("CREATE TABLE clock (us BIGINT NOT NULL)")
	run("INSERT INTO clock VALUES (0)")
	d = newDriver(t, db, on.dialect, sqllock.Options{})
	d.ClockFrom("(SELECT us FROM clock)")
	return d, func(us int64) { t.Helper(); run(fmt.Sprint("UPDATE clock SET us = ", us)) }, run
}

// A lease lives until the µs before its deadline: until then it is renewed and keeps the key from
// others, and after that neither.
func TestDeadline(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, _ := standing(t, on)
		const begin = int64(1_795_207_852_937_000)
		for i, limit := range []int{1, 3} {
			for _, late := range []int64{-1, 0, 1} {
				set(begin)
				a := driver.Acquisition{Key: fmt.Sprint(limit, late), Owner: "n/1", TTL: time.Second, Limit: limit}
				g, err := d.Acquire(t.Context(), a)
				must(t, err)
				set(begin + 1_000_000 + late)
				alone := driver.Acquisition{Key: a.Key, Owner: "n/2", TTL: time.Second}
				_, err = d.Renew(t.Context(), driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, TTL: time.Second, Limit: limit})
				if renewed := err == nil; renewed != (late < 0) || err != nil && !errors.Is(err, driver.ErrLost) {
					t.Errorf("limit %d: %d µs after the deadline the renewal is %v", limit, late, err)
				}
				if late < 0 { // the deadline is now a second later
					set(begin + 2_000_000 - 2)
				}
				_, err = d.Acquire(t.Context(), alone)
				if held := isHeld(err); held != (late < 0) || err != nil && !held {
					t.Errorf("limit %d: %d µs after the deadline another owner is answered %v (case %d)", limit, late, err, i)
				}
			}
		}
	})
}

// A key that is shared is free for an owner that wants it alone once the last of its holders has lost it, in whichever order
// they came.
func TestDeadlineOfTheLastHolder(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, _ := standing(t, on)
		const begin = int64(1_795_207_852_937_000)
		set(begin)
		for i, ttl := range []time.Duration{2 * minute, minute} {
			_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: fmt.Sprint("n/", i), TTL: ttl, Limit: 2})
			must(t, err)
		}
		for _, late := range []int64{-1, 0} {
			set(begin + 2*minute.Microseconds() + late)
			if _, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/3", TTL: minute}); isHeld(err) != (late < 0) || err != nil && !isHeld(err) {
				t.Errorf("%d µs after the last deadline the answer is %v", late, err)
			}
		}
	})
}

// Leases that are renewed together live on, each of them.
func TestRenewedTogether(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, _ := standing(t, on)
		const begin = int64(1_795_207_852_937_000)
		set(begin)
		var refs []driver.LeaseRef
		for i := range 6 {
			a := driver.Acquisition{Key: fmt.Sprint("key ", i), Owner: "n/1", TTL: minute, Limit: 1 + i/4}
			g, err := d.Acquire(t.Context(), a)
			must(t, err)
			refs = append(refs, driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, TTL: time.Duration(1+i%2) * minute, Limit: a.Limit})
		}
		set(begin + minute.Microseconds() - 1)
		for i, r := range d.RenewAll(t.Context(), refs) {
			if r.Err != nil || r.Fence != refs[i].Fence || r.Left != refs[i].TTL {
				t.Errorf("%s: the renewal is answered with %+v", refs[i].Key, r)
			}
		}
		for _, h := range refs {
			all, err := d.Holders(t.Context(), h.Key)
			if err != nil || len(all) != 1 || all[0].Left != h.TTL {
				t.Errorf("%s: the holders are %+v, %v, want one for %v", h.Key, all, err, h.TTL)
			}
		}
	})
}

// maintained lets a request begin the maintenance, and waits until it is done.
func maintained(t *testing.T, d *sqllock.Driver) {
	t.Helper()
	d.MaintenanceDue()
	must(t, d.Release(t.Context(), driver.LeaseRef{Key: "none", Owner: "n/1"}))
	d.MaintenanceDone()
}

// The row of a key is removed when its last grant was neither today nor yesterday, and its lease
// has been over for more than an hour: until then its fence is known. Its queue is removed with it.
func TestSweepCutoff(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		const now, hour = int64(1_795_207_852_937_000), int64(3_600_000_000)
		const today = now / 86_400_000_000
		set(now)
		rows := map[string][2]int64{ // the deadline, and the day of the last use
			"today": {0, today}, "yesterday": {0, today - 1}, "before": {0, today - 2},
			"just over": {now - hour, today - 2}, "over": {now - hour - 1, today - 2}, "held": {now + 1, today - 9},
		}
		for key, row := range rows {
			run(fmt.Sprintf("INSERT INTO cronce_leases (ns, name, owner, fence, until_us, place, holders, used_day) VALUES ('cronce', '%s', '', 1, %d, 0, '', %d)",
				key, row[0], row[1]))
			run(fmt.Sprintf("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES ('cronce', '%s', 'n/1', '', 1, 1, 0, 0)", key))
		}
		maintained(t, d)
		for _, table := range []string{"cronce_leases", "cronce_places"} {
			got := strings.Fields(strings.ReplaceAll(texts(t, on.connect(t), "SELECT replace(name, ' ', '-') FROM "+table+" ORDER BY name"), "\n", " "))
			if want := "[held just-over today yesterday]"; fmt.Sprint(got) != want {
				t.Errorf("kept in %s are %v, want %s", table, got, want)
			}
		}
	})
}

// The place of an owner is removed when the owner has owed a sign of life for more than an hour,
// since the first request or since the second. An owner that owes none keeps its place.
func TestSweepPlaces(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		const now, hour = int64(1_795_207_852_937_000), int64(3_600_000_000)
		set(now)
		for owner, asked := range map[string]int64{
			"here": 0, "asked": now, "asked-twice": -now, "just-once": now - hour, "just-twice": hour - now, "once": now - hour - 1, "twice": hour - now + 1,
		} {
			run(fmt.Sprintf("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES ('cronce', 'key', '%s', '', 1, 1, 0, %d)", owner, asked))
		}
		maintained(t, d)
		got := strings.Fields(texts(t, on.connect(t), "SELECT owner FROM cronce_places ORDER BY owner"))
		if want := "[asked asked-twice here just-once just-twice]"; fmt.Sprint(got) != want {
			t.Errorf("kept are %v, want %s", got, want)
		}
	})
}

// Requests that come again and again start the maintenance once it is due.
func TestMaintenanceIsStarted(t *testing.T) {
	t.Parallel()
	on := sqlite(t)
	d := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
	for name, ask := range map[string]func(){
		"a release":       func() { must(t, d.Release(t.Context(), driver.LeaseRef{Key: "none", Owner: "n/1"})) },
		"a beat":          func() { _, err := d.Beat(t.Context(), series.Beat{Node: "n", TTL: minute}); must(t, err) },
		"the end of runs": func() { d.ReleaseRuns(t.Context(), nil) },
	} {
		d.MaintenanceDue()
		ask()
		if d.MaintenanceIn() < 0 {
			t.Errorf("%s does not start it", name)
		}
		d.MaintenanceDone()
	}
}

// The record of leases that were taken is removed once it no longer counts, and not before.
func TestSweepBooks(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		const now = int64(1_795_207_852_937_000)
		set(now)
		for name, until := range map[string]int64{"counts": now + 1, "just-over": now, "over": now - 1} {
			run(fmt.Sprintf("INSERT INTO cronce_taken (ns, name, until_us, book) VALUES ('cronce', '%s', %d, '')", name, until))
		}
		many := make([]string, 501) // one more than a transaction removes
		for i := range many {
			many[i] = fmt.Sprintf("('cronce', 'over-%d', 1, '')", i)
		}
		run("INSERT INTO cronce_taken (ns, name, until_us, book) VALUES " + strings.Join(many, ", "))
		maintained(t, d)
		got := strings.Fields(texts(t, on.connect(t), "SELECT name FROM cronce_taken ORDER BY name"))
		if want := "[counts just-over]"; fmt.Sprint(got) != want {
			t.Errorf("kept are %v, want %s", got, want)
		}
	})
}

// The maintenance leaves the record of a forced unlock as long as it must be kept, and removes it then.
func TestForcedIsRemembered(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, _ := standing(t, on)
		const now = int64(1_795_207_852_937_000)
		set(now)
		_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute})
		must(t, err)
		_, err = d.Force(t.Context(), driver.ForceRequest{Key: "key", ID: "1", By: "operator", Reason: "stuck"})
		must(t, err)
		for past, want := range []string{"1", "0"} { // µs past the last instant at which it is kept
			set(now + driver.ForceRecordsKept.Microseconds() + int64(past))
			maintained(t, d)
			if got := strings.TrimSpace(texts(t, on.connect(t), "SELECT count(*) FROM cronce_taken")); got != want {
				t.Errorf("%d µs past it there are %s records, want %s", past, got, want)
			}
		}
	})
}

// A second forced unlock of a key prolongs the time for which the records of the key are kept.
func TestLaterForcedIsRemembered(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, _ := standing(t, on)
		now := int64(1_795_207_852_937_000)
		for _, id := range []string{"1", "2"} {
			now += time.Hour.Microseconds()
			set(now)
			_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/" + id, TTL: minute})
			must(t, err)
			_, err = d.Force(t.Context(), driver.ForceRequest{Key: "key", ID: id, By: "operator", Reason: "stuck"})
			must(t, err)
		}
		set(now + driver.ForceRecordsKept.Microseconds() - 1000)
		maintained(t, d)
		all, err := d.ForceRecords(t.Context(), "key")
		must(t, err)
		if len(all) == 0 || all[len(all)-1].ID != "2" {
			t.Errorf("the records are %+v, the second is missing", all)
		}
	})
}

// A chore of the maintenance that fails does not keep those after it from being done. It is soon done again.
func TestChoreThatFails(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		const now = int64(1_795_207_852_937_000)
		set(now)
		run(fmt.Sprintf("INSERT INTO cronce_nodes (ns, node, until_us) VALUES ('cronce', 'gone', %d)", now-series.GoneFor.Microseconds()-1))
		run("DROP TABLE cronce_taken") // the records of leases that were taken cannot be swept
		maintained(t, d)
		if in := d.MaintenanceIn(); in > 5*time.Second {
			t.Errorf("the next maintenance is due in %v", in)
		}
		if got := texts(t, on.connect(t), "SELECT node FROM cronce_nodes"); got != "" {
			t.Errorf("kept are the nodes %q, want none", got)
		}
	})
}

// The database stood still while a key was kept for an owner, so the key is kept for it once more. If the owner does not
// take the key then either, another owner gets it, and the first has its place again.
func TestKeptOnceMore(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, _ := standing(t, on)
		now := int64(1_795_207_852_937_000)
		set(now)
		a := driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute}
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		_ = d.Abandon(t.Context(), driver.Acquisition{Key: "key", Owner: "n/2", TTL: minute})
		must(t, d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: "n/1", Fence: g.Fence}))
		a.Owner = "n/3"
		for _, past := range []time.Duration{sqllock.Reserved + 2*time.Second, sqllock.Reserved - time.Microsecond} {
			now += past.Microseconds()
			set(now)
			if _, err := d.Acquire(t.Context(), a); !isHeld(err) {
				t.Errorf("the key is not kept once more: %v", err)
			}
		}
		set(now + 1)
		_, err = d.Acquire(t.Context(), a)
		must(t, err)
		if got := texts(t, on.connect(t), "SELECT owner FROM cronce_places"); got != "n/2\n" {
			t.Errorf("the places are of %q, want n/2", got)
		}
	})
}

// An owner did not take a key that was kept for it beside another holder. If that holder then renews several leases at
// once, the owner has its place again.
func TestRenewalBesideUnanswered(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, _ := standing(t, on)
		const now = int64(1_795_207_852_937_000)
		set(now)
		a := func(owner string) driver.Acquisition {
			return driver.Acquisition{Key: "key", Owner: owner, TTL: minute, Limit: 2}
		}
		var refs []driver.LeaseRef
		for _, owner := range []string{"n/1", "n/2"} {
			g, err := d.Acquire(t.Context(), a(owner))
			must(t, err)
			refs = append(refs, driver.LeaseRef{Key: "key", Owner: owner, Fence: g.Fence, TTL: minute, Limit: 2})
		}
		_ = d.Abandon(t.Context(), a("n/3")) // it waits
		must(t, d.Release(t.Context(), refs[1]))
		set(now + sqllock.Reserved.Microseconds() + 1)
		must(t, d.RenewAll(t.Context(), refs[:1])[0].Err)
		if got := texts(t, on.connect(t), "SELECT owner FROM cronce_places"); got != "n/3\n" {
			t.Errorf("the places are of %q, want n/3", got)
		}
	})
}

// A release passes over an owner that was sent its second request for a sign of life 3 seconds ago,
// and no other. An owner that still has a µs left is next, and so is an owner that got only one
// request, however long ago.
func TestSilence(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d, set, run := standing(t, on)
		const now, silence = int64(1_795_207_852_937_000), int64(3_000_000)
		set(now)
		for asked, want := range map[int64]string{0: "n/2", now - 60*silence: "n/2", now: "n/2", silence - now - 1: "n/2", silence - now: "n/3", silence - now + 1: "n/3"} {
			key := fmt.Sprint("asked ", asked)
			g, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: "n/1", TTL: minute})
			must(t, err)
			for _, place := range []string{fmt.Sprint("'n/2', 'elsewhere', 1, 60000000, 0, ", asked), "'n/3', 'elsewhere', 1, 60000000, 0, 0"} {
				run(fmt.Sprintf("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES ('cronce', '%s', %s)", key, place))
			}
			must(t, d.Release(t.Context(), driver.LeaseRef{Key: key, Owner: "n/1", Fence: g.Fence}))
			at, err := d.Inspect(t.Context(), key)
			must(t, err)
			if at.Owner != want {
				t.Errorf("asked_us is %d: the key is kept for %q, want %s", asked, at.Owner, want)
			}
		}
	})
}
