package series_test

import (
	"testing"

	"github.com/cronce/cronce/lock/series"
)

// A series was removed if the nodes that had it left, or live without it. It was not if one of
// them may have died, or has it, or a shard of it.
func TestRemoved(t *testing.T) {
	t.Parallel()
	now, within := int64(100_000_000), series.SightedWithin.Milliseconds()
	list := series.MemberList{Now: now, Members: []series.Member{
		{Node: "alive", Until: now + 1}, {Node: "left", Left: now - 10}, {Node: "gone", Left: now - 20}, {Node: "dead", Until: now - 1},
	}}
	use := func(node string, ago int64) series.RevisionUse {
		return series.RevisionUse{Node: node, Last: now - ago}
	}
	alone := series.MemberList{Now: now, Members: list.Members[1:]}
	open := func(node string) series.Series {
		return series.Series{Runs: []series.Run{{State: series.RunOpen, Owner: node + "/1"}}}
	}
	divided := func(opener string, shards ...series.Shard) series.Series {
		s := open(opener)
		s.Runs[0].Shards, s.Sheet.Shards = len(shards), shards
		return s
	}
	draining, drainingShard := open("gone"), divided("dead", series.Shard{State: series.RunOpen, Owner: "gone/1", Fence: 7, Until: now + 1})
	draining.Runs[0].Until, draining.Now, drainingShard.Now = now+1, now, now
	part := func(state series.RunState, node string) series.Shard {
		return series.Shard{State: state, Owner: node + "/1", Fence: 7}
	}
	for name, c := range map[string]struct {
		list *series.MemberList
		s    series.Series
		uses []series.RevisionUse
		at   int64 // 0: it was not removed
	}{
		"all left":                           {&list, series.Series{Mark: now - 10}, []series.RevisionUse{use("left", 50), use("gone", 60)}, now - 10},
		"another revision, long ago":         {&list, series.Series{}, []series.RevisionUse{use("dead", 60+within+1), use("gone", 60)}, now - 20},
		"lives, and opened it lately":        {&list, series.Series{}, []series.RevisionUse{use("alive", within-1)}, 0},
		"lives without it":                   {&list, series.Series{}, []series.RevisionUse{use("alive", within)}, now - within},
		"lives, and decided lately":          {&list, series.Series{Mark: now - within + 1}, []series.RevisionUse{use("alive", within)}, 0},
		"lives, and decided earlier":         {&list, series.Series{Mark: now - within}, []series.RevisionUse{use("alive", within+50)}, now - within},
		"died":                               {&list, series.Series{}, []series.RevisionUse{use("dead", within+50)}, 0},
		"one died":                           {&list, series.Series{}, []series.RevisionUse{use("left", 50), use("dead", 60)}, 0},
		"not on the list":                    {&list, series.Series{}, []series.RevisionUse{use("other", 50)}, 0},
		"never opened":                       {&list, series.Series{}, nil, 0},
		"decided since":                      {&list, series.Series{Mark: now - 9}, []series.RevisionUse{use("left", 50)}, 0},
		"a run of a dead node":               {&list, open("dead"), []series.RevisionUse{use("left", 50)}, 0},
		"a run of one that left":             {&list, open("gone"), []series.RevisionUse{use("left", 50)}, now - 10},
		"a run of one that drains":           {&list, draining, []series.RevisionUse{use("left", 50)}, 0},
		"a shard of one that drains":         {&list, drainingShard, []series.RevisionUse{use("left", 50)}, 0},
		"free shards, opened by a live node": {&list, divided("alive", part(series.RunDone, "alive"), series.Shard{}), []series.RevisionUse{use("alive", within)}, now - within},
		"free shards, opened by a dead node": {&list, divided("dead", part(series.RunDone, "dead"), series.Shard{}), []series.RevisionUse{use("left", 50)}, now - 10},
		"a shard of a live node":             {&list, divided("left", part(series.RunOpen, "alive"), series.Shard{}), []series.RevisionUse{use("left", 50)}, 0},
		"a shard of a dead node":             {&list, divided("left", part(series.RunOpen, "dead")), []series.RevisionUse{use("left", 50)}, 0},
		"a shard of one that left":           {&list, divided("dead", part(series.RunOpen, "gone")), []series.RevisionUse{use("left", 50)}, now - 10},
		"no node lives":                      {&alone, series.Series{}, []series.RevisionUse{use("left", 50)}, 0},
	} {
		if at, removed := c.list.Removed(&c.s, c.uses); removed != (c.at != 0) || removed && at != c.at {
			t.Errorf("%s: %d, %v, want %d", name, at, removed, c.at)
		}
	}
}
