package driver_test

import (
	"testing"

	"github.com/cronce/cronce/lock/driver"
)

// A series was removed if the nodes that had it left, or live without it. It was not if one of
// them may have died, or has it.
func TestRemoved(t *testing.T) {
	t.Parallel()
	now, within := int64(100_000_000), driver.SightedWithin.Milliseconds()
	list := driver.MemberList{Now: now, Members: []driver.Member{
		{Node: "alive", Until: now + 1}, {Node: "left", Left: now - 10}, {Node: "gone", Left: now - 20}, {Node: "dead", Until: now - 1},
	}}
	use := func(node string, ago int64) driver.RevisionUse {
		return driver.RevisionUse{Node: node, Last: now - ago}
	}
	alone := driver.MemberList{Now: now, Members: list.Members[1:]}
	open := func(node string) driver.Series {
		return driver.Series{Runs: []driver.Run{{State: driver.RunOpen, Owner: node + "/1"}}}
	}
	for name, c := range map[string]struct {
		list *driver.MemberList
		s    driver.Series
		uses []driver.RevisionUse
		at   int64 // 0: it was not removed
	}{
		"all left":                    {&list, driver.Series{Mark: now - 10}, []driver.RevisionUse{use("left", 50), use("gone", 60)}, now - 10},
		"another revision, long ago":  {&list, driver.Series{}, []driver.RevisionUse{use("dead", 60+within+1), use("gone", 60)}, now - 20},
		"lives, and opened it lately": {&list, driver.Series{}, []driver.RevisionUse{use("alive", within-1)}, 0},
		"lives without it":            {&list, driver.Series{}, []driver.RevisionUse{use("alive", within)}, now - within},
		"lives, and decided lately":   {&list, driver.Series{Mark: now - within + 1}, []driver.RevisionUse{use("alive", within)}, 0},
		"lives, and decided earlier":  {&list, driver.Series{Mark: now - within}, []driver.RevisionUse{use("alive", within+50)}, now - within},
		"died":                        {&list, driver.Series{}, []driver.RevisionUse{use("dead", within+50)}, 0},
		"one died":                    {&list, driver.Series{}, []driver.RevisionUse{use("left", 50), use("dead", 60)}, 0},
		"not on the list":             {&list, driver.Series{}, []driver.RevisionUse{use("other", 50)}, 0},
		"never opened":                {&list, driver.Series{}, nil, 0},
		"decided since":               {&list, driver.Series{Mark: now - 9}, []driver.RevisionUse{use("left", 50)}, 0},
		"a run of a dead node":        {&list, open("dead"), []driver.RevisionUse{use("left", 50)}, 0},
		"a run of one that left":      {&list, open("gone"), []driver.RevisionUse{use("left", 50)}, now - 10},
		"no node lives":               {&alone, driver.Series{}, []driver.RevisionUse{use("left", 50)}, 0},
	} {
		if at, removed := c.list.Removed(&c.s, c.uses); removed != (c.at != 0) || removed && at != c.at {
			t.Errorf("%s: %d, %v, want %d", name, at, removed, c.at)
		}
	}
}
