package locktest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
)

var modelTests = []test{
	{"random sequences are answered, and kept, as the rules say", modelRounds},
}

const (
	exactRounds = 300
	otherRounds = 3
	roundSteps  = 60
	traced      = 40 // how many steps of a failed round are logged
)

// Each round sends a random sequence of requests to the store and to the rules. The rules get the
// time at which the store reports that it judged, so that both decide by the same time. Fences are
// compared by the runs to which they belong and by their order.
func modelRounds(s *fixture) {
	rounds := s.env.Rounds
	if rounds == 0 {
		rounds = otherRounds
		if s.env.exact() {
			rounds = exactRounds
		}
	}
	seed := rand.Uint64()
	seen, rules := make(map[string]int), s.rules()
	exact := rounds >= exactRounds
	for round := 0; round < rounds || exact && round < 10*rounds && !seenAll(seen, rules); round++ {
		tw := newComparison(s, seed, uint64(round))
		tw.seen = seen
		for range roundSteps {
			if !tw.step() {
				s.Logf("%s: the store stalled over the end of a lease, the round ends here", tw.seed)
				break
			}
		}
	}
	for _, rule := range rules {
		s.Logf("%s: %d answers", rule, seen[rule])
		if seen[rule] == 0 && exact {
			s.Errorf("no answer was %s: the sequences do not reach every rule", rule)
		}
	}
}

// rules lists the answers that the sequences must reach: each kind, and for a store that divides numbers each step of a sheet.
func (s *fixture) rules() (all []string) {
	for k := series.KindUnknown; k <= series.KindOperator; k++ {
		all = append(all, name(k))
	}
	if s.shards() {
		all = append(all, sheetSteps...)
	}
	return all
}

// seenAll reports whether each rule was seen: the rare ones may need more rounds.
func seenAll(seen map[string]int, rules []string) bool {
	return !slices.ContainsFunc(rules, func(rule string) bool { return seen[rule] == 0 })
}

// A comparison is a store and the rules in parallel, over two series.
type comparison struct {
	*fixture
	rnd    *rand.Rand
	seed   string
	models []*model
	log    []string
	last   func()         // sends the last request again
	seen   map[string]int // the answers of all rounds
}

// A model is one series as the rules keep it.
type model struct {
	series.State
	key   string
	lines []series.Line
	store map[int64]int64 // the store's fence for each fence of the rules
	top   int64           // the highest fence of the store
	runs  []modelRun      // all runs that were ever granted or waited
	asked []modelClaim    // all claims that were ever sent

	controls []series.Control // all changes that were ever sent
}

// A modelRun identifies a run, or a shard of it, with the fence that the rules gave it.
type modelRun struct {
	number int64
	owner  string
	fence  int64

	shard, shards int
	of            int64 // of a shard: the fence of its run
}

// A modelClaim is a claim with fences of the rules, and the corresponding fences of the store.
type modelClaim struct {
	series.Claim
	storeFrom, storeFence int64
}

// Append folds lines, as a store must.
func (m *model) Append(l series.Line) {
	if n := len(m.lines); n > 0 && m.lines[n-1].Fold(l) {
		return
	}
	m.lines = append(m.lines, l)
}

func newComparison(s *fixture, seed, round uint64) *comparison {
	tw := &comparison{fixture: s, rnd: rand.New(rand.NewPCG(seed, round)), seed: fmt.Sprintf("seed %d, round %d", seed, round)}
	for i := range 2 {
		tw.models = append(tw.models, &model{key: fmt.Sprintf("m%d.%d", round, i), store: map[int64]int64{0: 0}})
	}
	tw.last = func() {}
	return tw
}

// fail ends the test and logs the requests that led to the failure.
func (tw *comparison) fail(format string, args ...any) {
	tw.Helper()
	tw.Fatalf("%s\n%s\n%s", fmt.Sprintf(format, args...), tw.seed, strings.Join(tw.log[max(0, len(tw.log)-traced):], "\n"))
}

func (tw *comparison) note(format string, args ...any) {
	tw.log = append(tw.log, fmt.Sprintf("%3d ", len(tw.log)+1)+fmt.Sprintf(format, args...))
}

// pair records that two fences belong to the same run. When the pair is new, the store's fence must
// be above all before it.
func (tw *comparison) pair(m *model, rules, store int64) {
	tw.Helper()
	was, known := m.store[rules]
	switch {
	case known && was == store:
	case known:
		tw.fail("the store's fence is %d, want %d", store, was)
	case store <= m.top:
		tw.fail("the store's new fence is %d, after %d", store, m.top)
	default:
		m.store[rules], m.top = store, store
	}
}

// step sends one random request to both and compares their states. It reports whether the round can
// continue: if the store's clock runs by itself, the store may have stalled across the time at
// which a lease ended.
func (tw *comparison) step() bool {
	tw.Helper()
	m := tw.models[tw.rnd.IntN(len(tw.models))]
	before := tw.sync(m)
	switch n := tw.rnd.IntN(100); {
	case m.Mark == 0 && n < 80:
		tw.opening(m)
	case m.Paused && n < 25:
		tw.change(m)
	case m.divided() && n < 15:
		tw.ending(m)
	case n < 42:
		tw.claims()
	case n < 52:
		tw.renewal(m)
	case n < 67:
		tw.ending(m)
	case n < 70:
		tw.change(m)
	case n < 73:
		tw.opening(m)
	case n < 79:
		tw.note("again")
		tw.last()
	default:
		tw.pass()
	}
	if !tw.env.exact() && tw.crossed(before) {
		return false
	}
	for _, m := range tw.models {
		tw.compare(m)
	}
	return true
}

// sync waits until no lease of the series ends within margin, unless the clock stands still.
func (tw *comparison) sync(m *model) int64 {
	now := tw.readSeries(m.key).Now
	if tw.env.exact() {
		return now
	}
	for tw.near(now, now+margin) {
		tw.env.Wait(margin * time.Millisecond)
		now = tw.readSeries(m.key).Now
	}
	return now
}

const margin = 100 // ms

func (tw *comparison) near(from, to int64) bool {
	return slices.ContainsFunc(tw.models, func(m *model) bool {
		return slices.ContainsFunc(m.Runs, func(r series.Run) bool {
			return r.State == series.RunOpen && r.Until >= from && r.Until <= to
		}) || slices.ContainsFunc(m.Sheet.Shards, func(h series.Shard) bool {
			return h.State == series.RunOpen && h.Until >= from && h.Until <= to
		}) || m.Paused && m.Pause.Until >= from && m.Pause.Until <= to
	})
}

func (tw *comparison) crossed(before int64) bool {
	now := tw.readSeries(tw.models[0].key).Now
	if now-before <= margin {
		return false
	}
	return tw.near(before, now)
}

func (tw *comparison) readSeries(key string) series.Series {
	tw.Helper()
	return tw.series(tw.numbered.ReadSeries(tw.ctx, []string{key}))
}

// compare compares the state of a series in the store with the state in the rules.
func (tw *comparison) compare(m *model) {
	tw.Helper()
	got := tw.readSeries(m.key)
	want := m.Series(got.Now*1000, m.key)
	tw.pair(m, want.Fence, got.Fence)
	want.Fence = got.Fence
	want.Runs = slices.Clone(want.Runs)
	for i := range want.Runs {
		want.Runs[i].Fence = m.store[want.Runs[i].Fence]
	}
	for i := range want.Sheet.Shards {
		want.Sheet.Shards[i].Fence = m.store[want.Sheet.Shards[i].Fence]
	}
	if !reflect.DeepEqual(got, want) {
		tw.fail("the store keeps %+v\nthe rules      %+v", got, want)
	}
	if tw.journaled != nil {
		tw.compareLines(m)
	}
}

func (tw *comparison) compareLines(m *model) {
	tw.Helper()
	j, err := tw.journaled.Journal(tw.ctx, m.key, 0)
	if err != nil {
		tw.fail("journal: %v", err)
	}
	want := slices.Clone(m.lines)
	for i := range want {
		if i < len(j.Lines) {
			tw.compareSheets(m, &j.Lines[i], &want[i])
		}
		want[i].Fence, want[i].BlockerFence = m.store[want[i].Fence], m.store[want[i].BlockerFence]
	}
	if !slices.Equal(j.Lines, want) {
		n := 0
		for n < min(len(want), len(j.Lines)) && want[n] == j.Lines[n] {
			n++
		}
		tw.fail("from line %d on the journal is\n%+v\nthe rules write\n%+v", n, j.Lines[n:], want[n:])
	}
}
