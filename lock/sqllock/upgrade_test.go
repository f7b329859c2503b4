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

// oldRows are rows as the first version stored them at an instant: a key that is held and waited
// for, a key that two owners share, a free key, and a series with a run. {us} and {ms} stand for
// the instant, {day} for its day; times and numbers are given relative to it.
var oldRows = []string{
	"INSERT INTO cronce_leases (ns, name, owner, fence, until_us, place, waiting, holders, ticket, used_day) VALUES" +
		" ('cronce', 'free', '', {us+3600000000}, 0, 0, 0, '', 0, {day})," +
		" ('cronce', 'held', 'old/1', {us+1}, {us+3600000000}, 0, 1, '', 1, {day})," +
		" ('cronce', 'shared', '', {us+3}, {us+3600000000}, 0, 0, '[" +
		`{"owner":"old/1","fence":{us+2},"until":{us+3600000000},"limit":3},{"owner":"old/2","fence":{us+3},"until":{us+3600000000},"limit":3}` +
		"]', 0, {day})",
	"INSERT INTO cronce_places (ns, name, place, owner, seen_us, most) VALUES ('cronce', 'held', 1, 'old/2', {us}, 0)",
	"INSERT INTO cronce_series (ns, name, format, state, revisions, first_line, next_line, bytes) VALUES ('cronce', 'job', 1, '" +
		`{"mark":{ms+20},"by":"old","fence":{us+53000},"runs":[{"number":{ms+20},"state":"open","owner":"old/12","fence":{us+53000},` +
		`"attempt":1,"granted":{ms+53},"until":{ms+3600053}}],"newest":{"at":{ms+53},"verdict":"ran","from":{ms+10},"to":{ms+20},` +
		`"node":"old","revision":"r1","fence":{us+53000},"attempt":1}}', '[{"revision":"r1","node":"n","first":{ms},"last":{ms}}]', 0, 3, 390)`,
	"INSERT INTO cronce_journal (ns, name, n, line) VALUES" +
		` ('cronce', 'job', 0, '{"at":{ms},"verdict":"opened","from":{ms},"to":{ms},"node":"n","revision":"r1"}'),` +
		` ('cronce', 'job', 1, '{"at":{ms+51},"verdict":"ran","from":{ms},"to":{ms+10},"node":"old","revision":"r1","fence":{us+51000},"attempt":1,"outcome":"ok","ended":{ms+52}}'),` +
		` ('cronce', 'job', 2, '{"at":{ms+53},"verdict":"ran","from":{ms+10},"to":{ms+20},"node":"old","revision":"r1","fence":{us+53000},"attempt":1}')`,
	"INSERT INTO cronce_nodes (ns, node, until_us) VALUES ('cronce', 'old', {us+3600000000})",
}

// at inserts an instant into the text of rows.
func at(row string, us int64) string {
	var text strings.Builder
	for {
		before, rest, found := strings.Cut(row, "{")
		text.WriteString(before)
		if !found {
			return text.String()
		}
		unit, later := "", int64(0)
		word, behind, _ := strings.Cut(rest, "}")
		if n, _ := fmt.Sscanf(word, "us+%d", &later); n == 1 || word == "us" {
			unit = fmt.Sprint(us + later)
		} else if n, _ := fmt.Sscanf(word, "ms+%d", &later); n == 1 || word == "ms" {
			unit = fmt.Sprint(us/1000 + later)
		} else if word == "day" {
			unit = fmt.Sprint(us / 86_400_000_000)
		}
		if unit == "" { // a brace of JSON
			text.WriteString("{")
			row = rest
			continue
		}
		text.WriteString(unit)
		row = behind
	}
}

// Tables of the first version, with rows, are upgraded: holders keep their keys and fences, a run
// keeps its number, and a series its journal. The next fence of a key is above its last fence.
// Owners that waited enter the new queue.
func TestUpgrade(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		_, err := migrations(t, on, db).UpTo(t.Context(), 1)
		must(t, err)
		us := time.Now().Add(-time.Second).UnixMicro()
		for _, row := range oldRows {
			_, err := db.Exec(at(row, us))
			must(t, err)
		}
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		if err := d.Check(t.Context()); err == nil {
			t.Error("the check takes the tables of the first version")
		}
		must(t, d.CreateTables(t.Context()))
		must(t, d.Check(t.Context()))
		upgradedLeases(t, d, us)
		upgradedSeries(t, d, us)
		if roll, err := d.Members(t.Context()); err != nil || len(roll.Members) != 1 || roll.Members[0].Node != "old" {
			t.Errorf("the nodes are %+v, %v", roll, err)
		}
	})
}

func upgradedLeases(t *testing.T, d *sqllock.Driver, us int64) {
	t.Helper()
	served := make(chan driver.Grant, 1)
	go func() {
		g, err := d.Wait(t.Context(), driver.Acquisition{Key: "held", Owner: "old/2", TTL: minute})
		if err != nil {
			t.Errorf("the waiter: %v", err)
		}
		served <- g
	}()
	eventually(t, "the waiter has a place", func() bool {
		at, err := d.Inspect(t.Context(), "held")
		return err == nil && at.Waiting == 1
	})
	held := driver.LeaseRef{Key: "held", Owner: "old/1", Fence: us + 1, TTL: minute}
	_, err := d.Renew(t.Context(), held)
	must(t, err)
	must(t, d.Release(t.Context(), held))
	if g := <-served; g.Fence <= us+1 {
		t.Errorf("the waiter has the fence %d, the holder had %d", g.Fence, us+1)
	}
	g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "free", Owner: "new/1", TTL: minute})
	must(t, err)
	if g.Fence != us+3_600_000_001 {
		t.Errorf("the fence is %d, the last one was %d", g.Fence, us+3_600_000_000)
	}
	_, err = d.Renew(t.Context(), driver.LeaseRef{Key: "shared", Owner: "old/2", Fence: us + 3, TTL: minute, Limit: 3})
	must(t, err)
	_, err = d.Acquire(t.Context(), driver.Acquisition{Key: "shared", Owner: "new/1", TTL: minute, Limit: 3})
	must(t, err)
	if _, err := d.Acquire(t.Context(), driver.Acquisition{Key: "shared", Owner: "new/2", TTL: minute, Limit: 3}); !isHeld(err) {
		t.Errorf("a fourth holder of three: %v", err)
	}
}

func upgradedSeries(t *testing.T, d *sqllock.Driver, us int64) {
	t.Helper()
	ms := us / 1000
	is := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "new", Revision: "r1"}})[0]
	must(t, is.Err)
	if is.Mark != ms+20 || is.Since != ms || len(is.Runs) != 1 {
		t.Errorf("the series is %+v, want the mark %d, first seen at %d, with a run", is, ms+20, ms)
	}
	run := series.RunRef{Key: "job", Owner: "old/12", Number: ms + 20, Fence: us + 53000, TTL: minute}
	if r := d.RenewRuns(t.Context(), []series.RunRef{run})[0]; r.Err != nil || !r.Alive {
		t.Errorf("the renewal of the run is %+v", r)
	}
	if e := d.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: run, Outcome: "ok"}})[0]; e.Err != nil || !e.Ended {
		t.Errorf("the end of the run is %+v", e)
	}
	c := series.Claim{Key: "job", Owner: "new/1", Number: ms + 60, After: ms + 20, TTL: minute, Attempts: 1, Deadline: time.Hour, Latest: driver.MaxNumber, Revision: "r1"}
	if a := d.Claim(t.Context(), []series.Claim{c})[0]; a.Kind != series.KindGranted || a.Fence <= run.Fence {
		t.Errorf("the claim of the next number is %+v", a)
	}
	j, err := d.Journal(t.Context(), "job", 0)
	must(t, err)
	var verdicts []series.Verdict
	for _, l := range j.Lines {
		verdicts = append(verdicts, l.Verdict)
	}
	if len(j.Lines) < 3 || j.Lines[1].Outcome != "ok" {
		t.Errorf("the journal is %q", verdicts)
	}
}

// An upgrade from the second version keeps the queue, in its order.
func TestUpgradeKeepsQueue(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		_, err := migrations(t, on, db).UpTo(t.Context(), 2)
		must(t, err)
		us := time.Now().UnixMicro()
		for _, row := range []string{
			"INSERT INTO cronce_leases (ns, name, owner, fence, until_us, place, holders, used_day) VALUES ('cronce', 'held', 'old/1', {us}, {us+3600000000}, 0, '', {day})",
			"INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES ('cronce', 'held', 'old/3', 'a', 1, 60000000, 0, 0)",
			"INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES ('cronce', 'held', 'old/2', 'b', 1, 60000000, 0, 0)",
		} {
			_, err := db.Exec(at(row, us))
			must(t, err)
		}
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		must(t, d.CreateTables(t.Context()))
		must(t, d.Check(t.Context()))
		must(t, d.Release(t.Context(), driver.LeaseRef{Key: "held", Owner: "old/1", Fence: us}))
		is, err := d.Inspect(t.Context(), "held")
		must(t, err)
		if is.Owner != "old/3" || is.Waiting != 1 {
			t.Errorf("the key stands at %+v, want it kept for old/3 and one that waits", is)
		}
	})
}

// A key that was held in tables of the third version is freed by force after the upgrade, and its
// holder is notified.
func TestUpgradeForces(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		_, err := migrations(t, on, db).UpTo(t.Context(), 3)
		must(t, err)
		us := time.Now().UnixMicro()
		_, err = db.Exec(at("INSERT INTO cronce_leases (ns, name, owner, fence, until_us, place, holders, used_day) VALUES"+
			" ('cronce', 'held', 'old/1', {us}, {us+3600000000}, 0, '', {day})", us))
		must(t, err)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		if err := d.Check(t.Context()); err == nil {
			t.Error("the check takes the tables of the third version")
		}
		must(t, d.CreateTables(t.Context()))
		must(t, d.Check(t.Context()))
		made, err := d.Force(t.Context(), driver.ForceRequest{Key: "held", ID: "id", By: "alice", Reason: "gone", To: us})
		must(t, err)
		if len(made.Owners) != 1 || made.Owners[0] != (driver.ForcedOwner{Owner: "old/1", Fence: us}) {
			t.Errorf("the record is %+v", made)
		}
		if err := d.Release(t.Context(), driver.LeaseRef{Key: "held", Owner: "old/1", Fence: us}); !errors.Is(err, driver.ErrForced) {
			t.Errorf("the release of the old holder says %v", err)
		}
		g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "held", Owner: "new/1", TTL: minute})
		must(t, err)
		if g.Fence <= us {
			t.Errorf("the fence is %d after %d", g.Fence, us)
		}
	})
}
