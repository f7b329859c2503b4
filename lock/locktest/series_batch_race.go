package locktest

import (
	"slices"
	"sync"

	"github.com/cronce/cronce/lock/series"
)

// Eight nodes claim the same numbers of fifty series at the same time, each in a different order:
// each number is granted to one of them and passed to the others.
func batchRace(s *fixture) {
	const nodes = 8
	fleet := s.fleet(50)
	var wg sync.WaitGroup
	answers := make([]map[string]series.Answer, nodes)
	for n := range nodes {
		cs := slices.Clone(fleet)
		for i := range cs {
			cs[i].Owner = s.owner()
		}
		if n%2 == 1 {
			slices.Reverse(cs)
		}
		wg.Go(func() { answers[n] = byKey(cs, s.numbered.Claim(s.ctx, cs)) })
	}
	wg.Wait()
	for _, c := range fleet {
		granted := 0
		for n := range nodes {
			switch a := answers[n][c.Key]; a.Kind {
			case series.KindGranted:
				granted++
			case series.KindPassed:
			default:
				s.Errorf("%s: node %d was answered %+v", c.Key, n, a)
			}
		}
		equal(s, "grants of "+c.Key, granted, 1)
	}
}

func byKey(cs []series.Claim, as []series.Answer) map[string]series.Answer {
	m := make(map[string]series.Answer, len(cs))
	for i, c := range cs {
		m[c.Key] = as[i]
	}
	return m
}
