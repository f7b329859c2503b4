package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A guest is a series whose nodes and operators ask a store in memory and in Redis for anything, and mostly at the instants at which
// an answer changes: when a number is due, may no longer start, or loses its lease, and a millisecond before and after. The nodes of a
// simulation seldom ask then. No job runs: the stores have to agree on each answer.
type guest struct {
	*dice
	store  *twin
	now    func() time.Time
	terms  series.Claim
	period int64
	sent   int

	edges    []int64 // instants at which an answer may change, Unix ms
	claims   []series.Claim
	runs     []series.RunRef
	controls []series.Control
	state    series.Series
}

// invite lets guests and lock guests act until the context ends, if the store compares answers.
func (s *simulation) invite(ctx context.Context) (wait func()) {
	store, can := s.store.(*twin)
	if !can {
		return func() {}
	}
	var all sync.WaitGroup
	for i := range guests {
		g := &guest{dice: throw(s.seed, uint64(3_000_000+i)), store: store, now: s.now}
		g.terms.Key = fmt.Sprint("guest", i)
		g.draw(i % 3)
		all.Go(func() { repeat(ctx, g.act) })
	}
	for i := range lockGuests {
		g := newLockGuest(s, store, i)
		all.Go(func() { repeat(ctx, g.act) })
	}
	return all.Wait
}

// repeat acts until the context ends.
func repeat(ctx context.Context, act func(context.Context)) {
	for ctx.Err() == nil {
		act(ctx)
	}
}

const guests = 6

// draw draws the policies of the nodes.
func (g *guest) draw(kind int) {
	g.period = []int64{1000, 5000, 10_000, 30_000}[g.n(4)]
	c := &g.terms
	c.TTL, c.Attempts, c.Rerun = []time.Duration{500 * time.Millisecond, time.Second, 3 * time.Second}[g.n(3)], 1+g.n(3), g.n(3) > 0
	c.Deadline = []time.Duration{0, time.Second, 3 * time.Second, time.Minute}[g.n(4)]
	c.Window = []time.Duration{0, 2 * time.Second, time.Minute}[g.n(3)]
	c.Overlap, c.Backlog = series.Overlap(g.n(4)), g.n(3) == 0
	if kind == 0 {
		return
	}
	if c.Overlap == series.OverlapAllow {
		c.Overlap = series.OverlapSkip
	}
	c.Sharding = &series.Sharding{Shards: 3, Want: []int{2, 0, 1, 5}, Most: 1 + g.n(2), FailAll: g.n(2) == 0}
	if kind == 2 {
		c.Sharding.Broadcast, c.Sharding.Params = true, slices.Clone(guestNodes)
	}
}

var guestNodes = []string{"a", "b", "c"}

// moves are the requests of a guest, by how often it makes them.
var moves = []func(*guest){
	(*guest).claim, (*guest).claim, (*guest).claim, (*guest).claim, (*guest).claim, (*guest).repeat, (*guest).takeOver, (*guest).takeOver, (*guest).takeOver,
	(*guest).renew, (*guest).renew, (*guest).end, (*guest).end, (*guest).end, (*guest).operate, (*guest).operate, (*guest).operate, (*guest).operateAgain,
	(*guest).enter, (*guest).peek, (*guest).keep,
}

// act makes a request when it is time. The first one is the opening, also after the store forgot.
func (g *guest) act(ctx context.Context) {
	g.pause()
	if g.state = g.store.memory.ReadSeries(ctx, []string{g.terms.Key})[0]; g.state.Mark == 0 {
		g.enter()
	} else {
		moves[g.n(len(moves))](g)
	}
	switch g.n(40) {
	case 0:
		_, _ = g.store.Journal(ctx, g.terms.Key, 0)
	case 1, 2, 3, 4:
		g.store.ReadSeries(ctx, []string{g.terms.Key})
	}
}

// ms is the store's clock.
func (g *guest) ms() int64 { return g.now().UnixMilli() }

// edge notes instants at which answers may change.
func (g *guest) edge(all ...int64) {
	g.edges = append(g.edges, all...)
	slices.Sort(g.edges)
}

// pause lets time pass: none, or until the next edge, or as long as comes.
func (g *guest) pause() {
	now := g.ms()
	g.edges = slices.DeleteFunc(g.edges, func(at int64) bool { return at <= now })
	switch d := g.n(10); {
	case d < 4: // several requests in one instant
	case d < 8 && len(g.edges) > 0 && g.edges[0] < now+20_000:
		time.Sleep(time.UnixMilli(g.edges[0] + int64(g.n(3)) - 1).Sub(g.now()))
	default:
		time.Sleep(g.long(3 * time.Second))
	}
}

func (g *guest) owner() string {
	g.sent++
	return fmt.Sprintf("%s/%d", guestNodes[g.n(len(guestNodes))], g.sent)
}

// due returns the latest number that is due at an instant.
func (g *guest) due(at int64) int64 { return at - at%g.period }

// draft returns a claim by an owner that has made none.
func (g *guest) draft(number int64) series.Claim {
	c := g.terms
	c.Owner, c.Number, c.After, c.Revision = g.owner(), number, number-g.period, "r1"
	c.Latest = g.ms() + int64(g.n(3))*500
	if g.n(6) == 0 {
		c.Fence = g.state.Fence + int64(g.n(3))
	}
	if g.n(30) == 0 { // the node has read the store while its clock was ahead: up to, or by more than, the day that is valid
		c.Fence = g.now().Add(time.Duration(g.n(4))*12*time.Hour).UnixMicro() + int64(g.n(3)) - 1
	}
	if g.n(10) == 0 {
		c.Late = []string{series.ReasonMisfire, series.ReasonRespecified}[g.n(2)]
	}
	if g.n(10) == 0 && c.Sharding == nil {
		c.Overlap = series.Overlap(g.n(4))
	}
	return c
}

// claim claims a number that is due, or soon, or the one after the mark; numbers before it are missed.
func (g *guest) claim() {
	number := g.due(g.ms() + series.Tolerance + int64(g.n(2)))
	switch g.n(6) {
	case 0:
		number = g.due(g.state.Mark) + g.period
	case 1:
		number -= g.period
	case 2:
		number += g.period
	}
	c := g.draft(number)
	if c.After > g.state.Mark && g.n(4) > 0 {
		c.After = g.state.Mark
		c.Between = int((number-1)/g.period - c.After/g.period)
	}
	g.ask(c)
}

// takeOver claims a run that waits or whose lease may be over, seldom with another fence.
func (g *guest) takeOver() {
	if len(g.state.Runs) == 0 {
		g.claim()
		return
	}
	r := g.state.Runs[g.n(len(g.state.Runs))]
	c := g.draft(r.Number)
	c.From, c.Next, c.After = r.Fence, g.due(g.ms())+g.period, r.Number-1
	if g.n(8) == 0 {
		c.From++
	}
	g.ask(c)
}

// repeat sends one of the latest claims again.
func (g *guest) repeat() {
	if len(g.claims) == 0 {
		return
	}
	c := g.claims[g.n(len(g.claims))]
	if g.n(2) == 0 {
		c.Latest = g.ms() + 500
	}
	g.ask(c)
}

func (g *guest) ask(c series.Claim) {
	g.claims = latest(append(g.claims, c))
	a := g.store.Claim(context.Background(), []series.Claim{c})[0]
	g.edge(c.Latest, c.Number, c.Number+c.Deadline.Milliseconds(), c.Number+c.Window.Milliseconds(), c.Number-series.Tolerance, c.Number+g.period-series.Tolerance, a.Mark-series.Tolerance)
	if a.Left > 0 {
		g.edge(a.Now + a.Left.Milliseconds())
	}
	if a.Kind != series.KindGranted {
		return
	}
	ref := series.RunRef{Key: c.Key, Number: a.Number, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL}
	if a.Of == 0 {
		g.runs = latest(append(g.runs, ref))
	}
	for _, shard := range a.Shards {
		ref.Fence, ref.Shard, ref.Shards = shard.Fence, shard.Shard, a.Of
		g.runs = latest(append(g.runs, ref))
	}
}

// latest returns the last few of all.
func latest[T any](all []T) []T { return all[max(0, len(all)-8):] }

// run draws one of the latest grants, seldom with another fence.
func (g *guest) run() (r series.RunRef, ok bool) {
	if len(g.runs) == 0 {
		return r, false
	}
	r = g.runs[g.n(len(g.runs))]
	r.Fence += int64(g.n(10) / 9)
	return r, true
}

func (g *guest) renew() {
	if r, ok := g.run(); ok {
		r.TTL = time.Duration(500+g.n(3000)) * time.Millisecond
		if a := g.store.RenewRuns(context.Background(), []series.RunRef{r})[0]; a.Alive {
			g.edge(g.ms() + r.TTL.Milliseconds())
		}
	}
}

func (g *guest) end() {
	r, ok := g.run()
	if !ok {
		return
	}
	e := series.EndRequest{RunRef: r, State: []series.RunState{series.RunDone, series.RunDone, series.RunUnstarted, series.RunGivenBack}[g.n(4)]}
	if e.State == series.RunDone {
		e.Outcome = []string{series.OutcomeOK, series.OutcomeOK, series.OutcomeFailed, series.OutcomeSkipped, series.OutcomeCancelled}[g.n(5)]
		e.OK = e.Outcome == series.OutcomeOK
	}
	if e.Outcome == series.OutcomeFailed {
		e.Error = "a bad day"
	}
	g.store.ReleaseRuns(context.Background(), []series.EndRequest{e})
}

// enter opens the series, seldom with another spec or with a mark.
func (g *guest) enter() {
	o := series.OpenRequest{Key: g.terms.Key, Node: guestNodes[g.n(len(guestNodes))], Revision: fmt.Sprint("r", 1+g.n(4)/2), Zone: "UTC", Policies: "p"}
	o.Spec = "spec of " + o.Revision
	o.Unseen = []time.Duration{0, time.Second, time.Minute}[g.n(3)]
	if g.n(3) == 0 {
		o.Mark = max(0, g.state.Mark+int64(g.n(3)-1)*g.period)
	}
	if g.n(3) == 0 {
		o.Begin = g.ms() + int64(g.n(5)-3)*g.period
	}
	g.store.Open(context.Background(), []series.OpenRequest{o})
}

// keep keeps the output of one of the latest grants, and reads the outputs of others.
func (g *guest) keep() {
	r, ok := g.run()
	if !ok {
		return
	}
	o := series.Output{Key: r.Key, Number: r.Number, Fence: r.Fence, Failed: r.Shards > 0 && g.n(3) == 0, Text: strings.Repeat("output ", g.n(series.MaxOutput/7))}
	_ = g.store.KeepOutput(context.Background(), o)
	for range 3 {
		r, _ = g.run()
		_, _ = g.store.Output(context.Background(), r.Key, r.Number)
	}
}

func (g *guest) peek() {
	var refs []series.NumberRef
	for i := range int64(4) {
		refs = append(refs, series.NumberRef{Key: g.terms.Key, Number: g.due(g.ms()) + (i-2)*g.period})
	}
	for _, r := range g.state.Runs {
		refs = append(refs, series.NumberRef{Key: g.terms.Key, Number: r.Number})
	}
	_, _ = g.store.Peek(context.Background(), refs, g.n(2) == 0)
}

// operate makes a change, seldom for an operator who has not seen the latest one.
func (g *guest) operate() {
	g.sent++
	c := series.Control{Key: g.terms.Key, Op: fmt.Sprint("op", g.sent), Who: "operator", Reason: "as drawn", Seen: series.AnySeen}
	if g.n(3) == 0 {
		c.Seen = g.state.Change - int64(g.n(3)/2)
	}
	later := func() int64 { return g.ms() + int64(g.n(4))*1500 }
	actions := []series.Action{series.ActionPause, series.ActionResume, series.ActionResume, series.ActionRetire, series.ActionCancel, series.ActionCancel,
		series.ActionSkip, series.ActionRun, series.ActionRun, series.ActionBackfill, series.ActionBackfill}
	switch c.Action = actions[g.n(len(actions))]; c.Action {
	case series.ActionPause, series.ActionRetire:
		if c.Until = later(); c.Action == series.ActionRetire || g.n(3) == 0 {
			c.Until = 0
		}
		if g.n(2) == 0 {
			c.Due, c.Revision = g.due(g.ms()-int64(g.n(2))), "r1"
		}
	case series.ActionCancel:
		if len(g.state.Runs) > 0 {
			r := g.state.Runs[g.n(len(g.state.Runs))]
			c.Number, c.Fence = r.Number, []int64{0, r.Fence, r.Fence + 1}[g.n(3)]
		}
	case series.ActionSkip:
		c.Number = []int64{0, g.due(g.ms()), g.due(g.ms()) + g.period}[g.n(3)]
	case series.ActionRun:
		c.Until, c.Overlap, c.Anyway = later(), series.Overlap(g.n(4)), g.n(2) == 0
	case series.ActionBackfill:
		for i := range int64(g.n(4)) {
			c.Numbers = append([]int64{g.due(g.state.Mark) - i*g.period}, c.Numbers...)
		}
		c.Room, c.Anyway = int64(g.n(3))*g.period/3, g.n(2) == 0
	}
	g.change(c)
}

// operateAgain sends one of the latest changes again, seldom with another body.
func (g *guest) operateAgain() {
	if len(g.controls) == 0 {
		return
	}
	c := g.controls[g.n(len(g.controls))]
	if g.n(3) == 0 {
		c.Reason = "another reason"
	}
	g.change(c)
}

func (g *guest) change(c series.Control) {
	g.controls = latest(append(g.controls, c))
	g.store.Control(context.Background(), c)
	g.edge(c.Until, c.Until+1, g.due(g.ms())+g.period-c.Room)
}
