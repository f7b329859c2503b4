package locktest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// sheetSteps lists the steps of a sheet that the sequences must reach.
var sheetSteps = []string{"an opening", "a share", "a share of a broadcast", "an orphan with shards", "a sum by an end", "a sum by a share", "a sum by a sweep", "a sum by a cancel", "a sum by a resume"}

// shards reports whether the store divides numbers into shards.
func (s *fixture) shards() bool {
	_, ok := s.driver.(series.Sharder)
	return ok
}

// divided reports whether the series has an open sheet.
func (m *model) divided() bool {
	return slices.ContainsFunc(m.Runs, func(r series.Run) bool { return r.Shards > 0 && r.State == series.RunOpen })
}

// divides may make c a claim of shards, most often of the number that is divided already.
func (tw *comparison) divides(m *model, c *modelClaim) {
	if !tw.shards() {
		return
	}
	open := m.divided()
	if open && tw.chance(60) {
		i := slices.IndexFunc(m.Runs, func(r series.Run) bool { return r.Shards > 0 && r.State == series.RunOpen })
		c.Number = m.Runs[i].Number
		if c.From, c.storeFrom = 0, 0; tw.chance(20) {
			c.From, c.storeFrom = m.Runs[i].Fence, m.store[m.Runs[i].Fence]
		}
		if m.Sheet.Broadcast && tw.chance(80) {
			c.Owner = fmt.Sprintf("%s/%d", one(tw, m.Sheet.Params...), tw.rnd.IntN(3))
		}
	}
	if !tw.chance(50) && (!open || !tw.chance(80)) {
		return
	}
	if c.Overlap == series.OverlapAllow {
		c.Overlap = series.OverlapQueue
	}
	h := &series.Sharding{Shards: one(tw, 1, 1, 2, 2, 3, 5), FailAll: tw.chance(30), Want: tw.rnd.Perm(7), Most: tw.rnd.IntN(3) + 1}
	h.Want = h.Want[:tw.rnd.IntN(8)]
	for i := range tw.rnd.IntN(h.Shards + 1) {
		h.Params = append(h.Params, fmt.Sprintf("part %d of %d \"é|;\"", i, h.Shards))
	}
	if tw.chance(30) {
		h.Broadcast, h.Params = true, []string{driver.NodeOf(c.Owner), "a", "é+,*#", "b/1", "c"}[:h.Shards]
	}
	c.Sharding = h
}

// pairShards pairs the fences of the shards in an answer, in the order in which they were granted, and writes the store's
// into the answer of the rules.
func (tw *comparison) pairShards(m *model, rules, store *series.Answer) {
	tw.Helper()
	m.mapSum(rules.Sum)
	if len(rules.Shards) != len(store.Shards) {
		return // fails as unequal
	}
	order := make([]int, len(rules.Shards))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(rules.Shards[a].Fence, rules.Shards[b].Fence) })
	for _, i := range order {
		tw.pair(m, rules.Shards[i].Fence, store.Shards[i].Fence)
		rules.Shards[i].Fence = store.Shards[i].Fence
	}
}

// mapSum writes the store's fence into a sum of the rules, or nil.
func (m *model) mapSum(sum *series.Sum) {
	if sum != nil {
		sum.Fence = m.store[sum.Fence]
	}
}

// keepShards keeps the granted shards of a run, with the fences that the rules gave them.
func (m *model) keepShards(a *series.Answer, owner string, of int64) {
	for _, g := range a.Shards {
		m.runs = append(m.runs, modelRun{number: a.Number, owner: owner, fence: m.ruleFence(g.Fence), shard: g.Shard, shards: a.Of, of: of})
	}
}

// sawSheet counts the step of a sheet that an answer of the store shows.
func (tw *comparison) sawSheet(m *model, a *series.Answer) {
	switch {
	case a.Kind == series.KindGranted && a.Of > 0 && m.ruleFence(a.Fence) == 0:
		tw.seen["an opening"]++
	case a.Kind == series.KindGranted && m.Sheet.Broadcast && len(a.Shards) > 0 && m.ruleFence(a.Shards[0].Fence) == 0:
		tw.seen["a share of a broadcast"]++
	case a.Kind == series.KindGranted && slices.ContainsFunc(a.Shards, func(g series.ShardGrant) bool { return m.ruleFence(g.Fence) == 0 }):
		tw.seen["a share"]++
	case a.Kind == series.KindOrphan && a.Of > 0:
		tw.seen["an orphan with shards"]++
	}
	if a.Sum != nil && a.Sum.Number == a.Number {
		tw.sawSum(a.Sum, "a share")
	} else {
		tw.sawSum(a.Sum, "a sweep")
	}
}

func (tw *comparison) sawSum(sum *series.Sum, by string) {
	if sum != nil {
		tw.seen["a sum by "+by]++
	}
}

// compareSheets compares the sheets of two lines. Their texts have distances of fences, so it compares the shards, and deletes
// the texts if they are equal.
func (tw *comparison) compareSheets(m *model, store, rules *series.Line) {
	tw.Helper()
	if rules.Sheet == "" || store.Sheet == "" {
		return
	}
	got, err := series.ReadSheet(store.Sheet, store.Fence, 0)
	if err != nil {
		tw.fail("the sheet in the journal: %v", err)
	}
	want, err := series.ReadSheet(rules.Sheet, rules.Fence, 0)
	if err != nil {
		tw.fail("the sheet of the rules: %v", err)
	}
	for i := range want {
		want[i].Fence = m.store[want[i].Fence]
	}
	if !reflect.DeepEqual(got, want) {
		tw.fail("the sheet in the journal is %+v\nthe rules write            %+v", got, want)
	}
	store.Sheet, rules.Sheet = "", ""
}
