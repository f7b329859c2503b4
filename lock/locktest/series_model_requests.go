package locktest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// one returns a random one of the values.
func one[T any](tw *comparison, of ...T) T { return of[tw.rnd.IntN(len(of))] }

// chance returns true in n of 100 cases.
func (tw *comparison) chance(n int) bool { return tw.rnd.IntN(100) < n }

// claims sends a batch of claims.
func (tw *comparison) claims() {
	tw.Helper()
	batch := make([]modelClaim, tw.rnd.IntN(4)+1)
	of := make([]*model, len(batch))
	for i := range batch {
		of[i] = tw.models[tw.rnd.IntN(len(tw.models))]
		batch[i] = tw.randomClaim(of[i])
	}
	if tw.chance(50) {
		tw.peek(of, batch)
	}
	tw.last = func() { tw.send(of, batch) }
	tw.last()
	for i := range batch {
		of[i].asked = append(of[i].asked, batch[i])
	}
}

// peek compares the store's answers to a peek at the numbers of a batch, before they are claimed,
// with the answers of the rules.
func (tw *comparison) peek(of []*model, batch []modelClaim) {
	tw.Helper()
	peeker, ok := tw.driver.(series.Peeker)
	if !ok {
		return
	}
	ps, nows := make([]series.NumberRef, len(batch)), make([]int64, len(batch))
	for i := range batch {
		ps[i] = series.NumberRef{Key: batch[i].Key, Number: batch[i].Number}
		if nows[i] = tw.readSeries(batch[i].Key).Now; !tw.env.exact() {
			nows[i] -= slack.Milliseconds()
		}
	}
	answers, err := peeker.Peek(tw.ctx, ps, true)
	if err != nil || len(answers) != len(ps) {
		tw.fail("%d peeks have %d answers, %v", len(ps), len(answers), err)
	}
	for i, got := range answers {
		if got != nil {
			nows[i] = got.Now
		}
		want := of[i].Peek(nows[i]*1000, ps[i].Number)
		if want != nil {
			want.Fence = of[i].store[want.Fence]
		}
		if !reflect.DeepEqual(got, want) {
			tw.fail("a peek at %d of %s says %+v\nthe rules          %+v", ps[i].Number, ps[i].Key, got, want)
		}
	}
}

func (tw *comparison) send(of []*model, batch []modelClaim) {
	tw.Helper()
	cs := make([]series.Claim, len(batch))
	for i, c := range batch {
		cs[i] = c.Claim
		cs[i].From, cs[i].Fence = c.storeFrom, c.storeFence
	}
	for i, got := range tw.numbered.Claim(tw.ctx, cs) {
		m := of[i]
		tw.seen[name(got.Kind)]++
		want := m.Claim(got.Now*1000, &batch[i].Claim, m)
		tw.note("claim %+v\n      %+v", cs[i], got)
		tw.sawSheet(m, &got)
		tw.pair(m, want.Fence, got.Fence)
		tw.pairShards(m, &want, &got)
		tw.pairBackfill(m)
		want.Fence = got.Fence
		for k := range want.Settled {
			want.Settled[k].Fence = m.store[want.Settled[k].Fence]
		}
		if len(want.Settled) == 0 && len(got.Settled) == 0 {
			want.Settled, got.Settled = nil, nil
		}
		if got.Kind == series.KindGranted && got.Wait > want.Wait-time.Millisecond && got.Wait < want.Wait {
			want.Wait = got.Wait // the store's clock was between two milliseconds
		}
		if got.Left > 0 && want.Of > 0 && (got.Left < want.Left || want.Left == 0 && got.Left <= m.unended(got.Now)) {
			want.Left = got.Left // the store need not know that a lease was renewed, or that a shard has ended
		}
		if !reflect.DeepEqual(got, want) {
			tw.fail("the store answers %+v\nthe rules          %+v", got, want)
		}
		if fence := m.ruleFence(got.Fence); got.Kind == series.KindGranted || got.Kind == series.KindWaiting {
			m.runs = append(m.runs, modelRun{number: got.Number, owner: cs[i].Owner, fence: fence})
			m.keepShards(&got, cs[i].Owner, fence)
		}
	}
}

// unended returns how long the leases of the shards that are settled would last if none of them had ended.
func (m *model) unended(now int64) time.Duration {
	end := now
	for i := range m.Sheet.Shards {
		if h := &m.Sheet.Shards[i]; h.Ended != 0 {
			end = max(end, h.Until)
		}
	}
	return time.Duration(end-now) * time.Millisecond
}

// ruleFence returns the fence of the rules that corresponds to a fence of the store.
func (m *model) ruleFence(store int64) int64 {
	for rules, s := range m.store {
		if s == store {
			return rules
		}
	}
	return 0
}

// randomClaim returns a new claim, or one that was sent before.
func (tw *comparison) randomClaim(m *model) modelClaim {
	if len(m.asked) > 0 && tw.chance(15) {
		return one(tw, m.asked[max(0, len(m.asked)-5):]...)
	}
	now := tw.readSeries(m.key).Now
	c := modelClaim{Claim: series.Claim{
		Key: m.key, Owner: tw.owner(), Number: max(1, tw.randomNumber(m, now)),
		Between: one(tw, 0, 0, 1, 4), TTL: one(tw, driver.MinTTL, driver.MinTTL, time.Second, 5*time.Second),
		Deadline: one(tw, 0, time.Millisecond, 20*time.Millisecond, time.Second, time.Hour, time.Hour),
		Late:     one(tw, "", "", series.ReasonMisfire, series.ReasonRespecified), Attempts: one(tw, 1, 2, 3), Rerun: tw.chance(50),
		Window: one(tw, 0, 300*time.Millisecond, time.Hour), Overlap: one(tw, series.OverlapSkip, series.OverlapQueue, series.OverlapAllow, series.OverlapReplace),
		Backlog: tw.chance(15), Latest: driver.MaxNumber, Revision: one(tw, "r1", "r1", "r1", "r2"),
	}}
	if tw.chance(5) {
		c.Latest = now - one[int64](tw, 1, 10)
	}
	if len(m.asked) > 0 && tw.chance(3) {
		c.Owner = one(tw, m.asked...).Owner // the owner of another claim
	}
	tw.randomFences(m, &c)
	tw.divides(m, &c)
	c.After = max(0, min(c.Number-1, m.Mark+one[int64](tw, 0, 0, 0, 0, 0, -5, -1000, 4)))
	return c
}

// randomNumber returns a number that is most often due now or next after the mark.
func (tw *comparison) randomNumber(m *model, now int64) int64 {
	if tw.chance(60) {
		return now - one[int64](tw, 0, 0, 0, 0, 1, 3, 10, 300, -3, -20, -21, -5000)
	}
	return m.Mark + one[int64](tw, 1, 1, 2, 5, 20, 100, 0, -10)
}

// randomFences may make the claim a takeover of a run, and may give it a floor.
func (tw *comparison) randomFences(m *model, c *modelClaim) {
	if len(m.runs) > 0 && tw.chance(35) {
		r := one(tw, m.runs[max(0, len(m.runs)-4):]...)
		c.Number, c.From = r.number, cmp.Or(r.of, r.fence)
		if tw.chance(10) {
			c.From = one(tw, m.runs...).fence
		}
		c.storeFrom, c.Next = m.store[c.From], one(tw, 0, c.Number, tw.readSeries(m.key).Now+one[int64](tw, 50, 3000, 60_000))
	} else if tw.chance(2) {
		c.From, c.storeFrom = 1, 1 // a fence of no run
	}
	if tw.chance(20) {
		above := one[int64](tw, 0, 3, 100_000)
		c.Fence, c.storeFence = m.State.Fence+above, m.store[m.State.Fence]+above
	}
}

// randomRun returns a run that was granted at some time, for the store and for the rules.
func (tw *comparison) randomRun(m *model) (store, rules series.RunRef) {
	r := modelRun{number: 1, owner: "nobody/1", fence: 1}
	m.store[1] = 1
	if len(m.runs) > 0 {
		r = m.runs[len(m.runs)-1]
		if tw.chance(30) {
			r = one(tw, m.runs...)
		} else if r.shards > 0 {
			r = one(tw, m.runs[max(0, len(m.runs)-5):]...)
		}
	}
	store = series.RunRef{Key: m.key, Number: r.number, Owner: r.owner, TTL: one(tw, driver.MinTTL, 2*time.Second), Shard: r.shard, Shards: r.shards}
	if tw.chance(5) {
		store.Owner = "other/1"
	}
	if r.shards > 0 && tw.chance(5) {
		store.Shards = one(tw, 0, r.shards+1, series.MaxShards)
		store.Shard = tw.rnd.IntN(max(store.Shards, 1))
	} else if r.shards > 0 && tw.chance(5) {
		store.Shard = tw.rnd.IntN(r.shards)
	}
	rules = store
	rules.Fence, store.Fence = r.fence, m.store[r.fence]
	return store, rules
}

func (tw *comparison) renewal(m *model) {
	tw.Helper()
	store, rules := tw.randomRun(m)
	tw.last = func() {
		got := tw.renew(store)
		now := tw.until(m, store, got.Alive)
		want := m.Renew(now*1000, &rules)
		tw.note("renew %+v\n      %+v at %d", store, got, now)
		if got != want {
			tw.fail("the store answers %+v\nthe rules          %+v", got, want)
		}
	}
	tw.last()
}

// until returns the time at which a renewal was judged: only the deadline shows it.
func (tw *comparison) until(m *model, ref series.RunRef, alive bool) int64 {
	tw.Helper()
	is := tw.readSeries(m.key)
	if alive && ref.Shards > 0 {
		return is.Sheet.Shards[ref.Shard].Until - ref.TTL.Milliseconds()
	}
	for _, r := range is.Runs {
		if alive && r.Number == ref.Number {
			return r.Until - ref.TTL.Milliseconds()
		}
	}
	return is.Now
}

func (tw *comparison) ending(m *model) {
	tw.Helper()
	store, rules := tw.randomRun(m)
	e := series.EndRequest{RunRef: store, State: one(tw, series.RunDone, series.RunDone, series.RunUnstarted, series.RunGivenBack)}
	if e.State == series.RunDone {
		e.OK = tw.chance(70)
		e.Outcome = one(tw, series.OutcomeOK, series.OutcomeFailed, series.OutcomeSkipped, "")
	}
	e.Error = one(tw, "", "", "no route", "a|b;c+d \x00\x1b[31m\n\"%7C\" é", strings.Repeat("é", series.MaxErrorText/2))
	tw.last = func() { tw.sendEnding(m, e, rules.Fence) }
	tw.last()
}

func (tw *comparison) sendEnding(m *model, e series.EndRequest, fence int64) {
	tw.Helper()
	got := tw.numbered.ReleaseRuns(tw.ctx, []series.EndRequest{e})[0]
	now := tw.endedAt(m, &e.RunRef)
	tw.note("end   %+v\n      %+v at %d", e, got, now)
	tw.sawSum(got.Sum, "an end")
	e.Fence = fence
	want := m.Release(now*1000, &e, m)
	tw.pairBackfill(m)
	want.Fence = m.store[want.Fence]
	m.mapSum(want.Sum)
	if !reflect.DeepEqual(got, want) {
		tw.fail("the store answers %+v\nthe rules          %+v", got, want)
	}
}

// endedAt returns the time at which an ending was judged: only its line shows it, or the sheet.
func (tw *comparison) endedAt(m *model, ref *series.RunRef) int64 {
	tw.Helper()
	is := tw.readSeries(m.key)
	now := is.Now
	if tw.env.exact() {
		return now
	}
	if i := slices.IndexFunc(is.Runs, func(r series.Run) bool { return r.Number == ref.Number && r.Shards > 0 }); i >= 0 {
		if ref.Shard < is.Runs[i].Shards && is.Sheet.Shards[ref.Shard].Ended != 0 {
			return is.Sheet.Shards[ref.Shard].Ended
		}
		return now
	}
	if tw.journaled == nil {
		return now
	}
	j, err := tw.journaled.Journal(tw.ctx, m.key, 2)
	if err == nil && len(j.Lines) == 2 && j.Lines[1].For != 0 { // the step also made the next run of a backfill
		j.Lines = j.Lines[:1]
	}
	if err != nil || len(j.Lines) == 0 {
		return now
	}
	j.Lines = j.Lines[len(j.Lines)-1:]
	var last series.Line
	if n := len(m.lines); n > 0 {
		last = m.lines[n-1]
		last.Fence, last.BlockerFence = m.store[last.Fence], m.store[last.BlockerFence]
	}
	l := j.Lines[0]
	l.Sheet, last.Sheet = "", "" // with fences of the store, and of the rules
	if l != last && l.Ended != 0 {
		return l.Ended
	}
	return now
}

// change pauses, resumes, cancels, skips or requests a run, sometimes with an earlier state that the caller has seen, or as an
// operation that was sent before.
func (tw *comparison) change(m *model) {
	tw.Helper()
	c := series.Control{Key: m.key, Action: series.ActionResume, Op: fmt.Sprint("op-", tw.rnd.IntN(1000)), Who: one(tw, "ann", "bob ü"),
		Seen: m.Change + one[int64](tw, 0, 0, 0, 0, -1, 1)}
	if c.Seen < 0 || tw.chance(20) {
		c.Seen = series.AnySeen
	}
	if !m.Paused && tw.chance(70) || m.Paused && tw.chance(20) {
		c.Action, c.Reason = series.ActionPause, one(tw, "for the night", "a|b;c#d+e%7C \"é\"")
		if tw.chance(60) {
			c.Until = tw.readSeries(m.key).Now + one[int64](tw, 1, 20, 120, 600, 3000, -5)
		}
	}
	if tw.chance(30) {
		_, run := tw.randomRun(m)
		c.Action, c.Reason, c.Until, c.Number = series.ActionCancel, "it hangs", 0, run.Number
		if tw.chance(60) {
			c.Fence = run.Fence
		}
	}
	if tw.chance(25) {
		c.Action, c.Reason, c.Until, c.Number, c.Fence = series.ActionRun, "by hand", tw.readSeries(m.key).Now+one[int64](tw, 5, 100, 3000, 3000, 3000), 0, 0
		c.Overlap, c.Anyway = one(tw, series.OverlapSkip, series.OverlapQueue, series.OverlapAllow, series.OverlapReplace), tw.chance(50)
		c.Scope = one(tw, "", "queue, while paused")
	} else if tw.chance(15) {
		c.Action, c.Reason, c.Until, c.Number, c.Fence = series.ActionSkip, "not tonight", 0, max(0, m.Mark+one[int64](tw, -1, 0, 1, 2, 5, 20, 100)), 0
	}
	if tw.chance(15) {
		tw.backfill(m, &c)
	}
	if c.Action == series.ActionPause && tw.chance(30) {
		c.Due, c.Revision = max(0, m.Mark+one[int64](tw, -5, 0, 1, 7, 60)), one(tw, "", "r1")
	}
	if len(m.controls) > 0 && tw.chance(20) {
		was := one(tw, m.controls...)
		c.Op = was.Op
		if tw.chance(60) {
			c = was
		}
	}
	m.controls = append(m.controls, c)
	tw.last = func() { tw.sendChange(m, &c) }
	tw.last()
}

// backfill makes c a backfill of decided numbers, sometimes of one that is not, or the end of one.
func (tw *comparison) backfill(m *model, c *series.Control) {
	*c = series.Control{Key: m.key, Action: series.ActionBackfill, Op: c.Op, Who: c.Who, Reason: "again", Seen: c.Seen, Anyway: tw.chance(50)}
	if tw.chance(20) {
		return
	}
	last := (m.Mark/1000 + one[int64](tw, 0, 0, 0, 1)) * 1000
	for _, before := range []int64{86_400_000, 5000, 1000, 0} {
		if n := last - before; n > 0 && (before == 0 || tw.chance(60)) {
			c.Numbers = append(c.Numbers, n)
		}
	}
	c.Room, c.Scope = one[int64](tw, 0, 100, 5000), one(tw, "", "an outage, room 5s")
}

// pairBackfill pairs the fences of a run of a backfill that the last step made.
func (tw *comparison) pairBackfill(m *model) {
	tw.Helper()
	for i := range m.Runs {
		r := &m.Runs[i]
		if _, known := m.store[r.Fence]; known || r.For == 0 {
			continue
		}
		for _, s := range tw.readSeries(m.key).Runs {
			if s.Number == r.Number {
				tw.pair(m, r.Fence, s.Fence)
				m.runs = append(m.runs, modelRun{number: r.Number, fence: r.Fence})
			}
		}
	}
}

// sendChange sends a change whose fence is one of the rules.
func (tw *comparison) sendChange(m *model, c *series.Control) {
	tw.Helper()
	q := *c
	q.Fence = m.store[c.Fence]
	got := tw.controlled.Control(tw.ctx, q)
	tw.note("%+v\n      %+v", q, got)
	now := got.Series.Now
	partition := tw.partition(m.key)
	divided := m.divided()
	want, _ := m.Control(now*1000, c, tw.audited[partition]+1, m)
	if divided && !m.divided() {
		tw.seen["a sum by a "+string(c.Action)]++
	}
	if got.Made {
		tw.audited[partition]++
	}
	if want.Made && want.Number != 0 {
		r := m.Runs[len(m.Runs)-1]
		tw.pair(m, r.Fence, got.Series.Fence)
		m.runs = append(m.runs, modelRun{number: r.Number, fence: r.Fence})
	}
	got.Series, want.Series = series.Series{}, series.Series{} // compared after each step
	if !reflect.DeepEqual(got, want) {
		tw.fail("the store answers %+v\nthe rules          %+v", got, want)
	}
}

func (tw *comparison) opening(m *model) {
	tw.Helper()
	o := series.OpenRequest{Key: m.key, Node: one(tw, "a", "b"), Revision: one(tw, "r1", "r2")}
	if tw.chance(5) {
		o.Mark = tw.readSeries(m.key).Now + one[int64](tw, -1000, 1000)
	}
	tw.last = func() {
		got := tw.opened(o)
		m.Open(got.Now*1000, &o, m)
		tw.note("open  %+v: %+v", o, got)
		if got.Mark != m.Mark {
			tw.fail("the store's mark is %d, the rules' %d", got.Mark, m.Mark)
		}
	}
	tw.last()
}

// pass lets time pass, sometimes until a lease has ended.
func (tw *comparison) pass() {
	d := one(tw, 1, 5, 15, 30, 100, 300, 510, 1100)
	if !tw.env.exact() {
		d = one(tw, 1, 5, 30, 510)
	}
	if tw.env.exact() && tw.chance(5) {
		d = 5100
	}
	tw.note("%dms pass", d)
	tw.env.Wait(time.Duration(d) * time.Millisecond)
}
