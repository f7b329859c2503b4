package series_test

import (
	"fmt"
	"hash/maphash"
	"os"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/series"
)

// Sharded ticks keep every invariant of shards in every order of claims, copies of claims, renewals, ends,
// pauses, cancels and deaths of nodes: three nodes, two ticks, three shards, two attempts. Each world is searched
// breadth first up to a number of states, with CRONCE_SOAK to its end or to five million states.
func TestEverySheet(t *testing.T) {
	most := 12_000
	if os.Getenv("CRONCE_SOAK") != "" {
		most = 5_000_000
	}
	for _, overlap := range []series.Overlap{series.OverlapSkip, series.OverlapQueue, series.OverlapReplace} {
		for name, p := range map[string]sheetPolicy{
			"lost":   {},
			"rerun":  {rerun: true, failAll: true},
			"pause":  {rerun: true, pauses: 1},
			"cancel": {rerun: true, cancels: 1},
			"layout": {rerun: true, layouts: true},

			"broadcast":        {broadcast: true, cancels: 1},
			"broadcast-rerun":  {broadcast: true, rerun: true, failAll: true, pauses: 1},
			"broadcast-layout": {broadcast: true, layouts: true},
		} {
			p.overlap = overlap
			t.Run(fmt.Sprintf("%d-%s", overlap, name), func(t *testing.T) {
				t.Parallel()
				states, trace, fault := searchSheets(p, most)
				if fault != "" {
					t.Fatalf("%s, after\n%s", fault, strings.Join(trace, "\n"))
				}
				t.Logf("%d states", states)
			})
		}
	}
}

// searchSheets searches a world breadth first until a fault, its end, or most states.
func searchSheets(p sheetPolicy, most int) (states int, trace []string, fault string) {
	type node struct {
		world *sheetWorld
		from  int
		move  string
	}
	seen := map[[2]uint64]bool{}
	nodes := []node{{world: newSheetWorld(p), from: -1}}
	var buf []byte
	for at := 0; at < len(nodes) && len(nodes) < most; at++ {
		w := nodes[at].world
		for _, m := range w.moves() {
			c := w.clone()
			m.do(c)
			if fault = c.check(); fault != "" {
				trace = append(trace, m.name)
				for i := at; i > 0; i = nodes[i].from {
					trace = append([]string{nodes[i].move}, trace...)
				}
				return len(nodes), trace, fault
			}
			buf = c.key(buf[:0])
			key := [2]uint64{maphash.Bytes(keySeeds[0], buf), maphash.Bytes(keySeeds[1], buf)}
			if !seen[key] {
				seen[key] = true
				nodes = append(nodes, node{c, at, m.name})
			}
		}
		nodes[at].world = nil
	}
	return len(nodes), nil, ""
}
