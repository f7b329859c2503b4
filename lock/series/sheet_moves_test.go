package series_test

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cronce/cronce/lock/series"
)

// moves are the steps from a state, each with its name.
func (w *sheetWorld) moves() (ms []sheetMove) {
	add := func(name string, do func(w *sheetWorld)) { ms = append(ms, sheetMove{name, do}) }
	layouts := []int{sheetShards}
	if w.layouts {
		layouts = append(layouts, sheetShards-1)
	}
	for k := 1; k <= sheetTicks; k++ {
		if due(k) > w.ms {
			continue
		}
		for _, n := range layouts {
			if w.broadcast {
				for _, node := range sheetNodes {
					add(fmt.Sprintf("claim %d for %d nodes on %s", k, n, node), func(w *sheetWorld) { w.ask(w.broadcasts(k, node, n)) })
				}
				continue
			}
			add(fmt.Sprintf("claim one of %d shards of %d", n, k), func(w *sheetWorld) { w.ask(w.claim(k, 1, false, n)) })
			add(fmt.Sprintf("claim two of %d shards of %d from the last", n, k), func(w *sheetWorld) { w.ask(w.claim(k, 2, true, n)) })
		}
	}
	for i := range w.Runs {
		if r := &w.Runs[i]; r.State == series.RunWaiting {
			add(fmt.Sprintf("take over %d", r.Number), func(w *sheetWorld) { w.ask(w.takeover(&w.Runs[i])) })
		}
	}
	if w.asked.Owner != "" {
		add("ask again", func(w *sheetWorld) { w.ask(w.asked) })
	}
	for i, r := range w.held {
		name := fmt.Sprintf("shard %d with the fence %d", r.Shard, r.Fence)
		add("renew "+name, func(w *sheetWorld) { w.renew(w.held[i]) })
		add("end "+name, func(w *sheetWorld) { w.end(w.held[i], series.RunDone, true) })
		add("fail "+name, func(w *sheetWorld) { w.end(w.held[i], series.RunDone, false) })
		add("give back "+name, func(w *sheetWorld) { w.end(w.held[i], series.RunGivenBack, false) })
		add("leave unstarted "+name, func(w *sheetWorld) { w.end(w.held[i], series.RunUnstarted, false) })
	}
	if w.ms < base+sheetSpan {
		add("an interval passes", func(w *sheetWorld) { w.ms += interval })
	}
	if w.pauses > 0 && !w.Paused {
		add("pause", func(w *sheetWorld) { w.pauses--; w.operate(series.ActionPause) })
	}
	if w.Paused {
		add("resume", func(w *sheetWorld) { w.operate(series.ActionResume) })
	}
	if w.cancels > 0 && len(w.Runs) > 0 && w.Runs[len(w.Runs)-1].State < series.RunDone {
		add("cancel", func(w *sheetWorld) { w.cancels--; w.operate(series.ActionCancel) })
	}
	return ms
}

type sheetMove struct {
	name string
	do   func(w *sheetWorld)
}

// key is all that two worlds must share to have the same future. Fences are named by their order.
func (w *sheetWorld) key(b []byte) []byte {
	fences := []int64{0}
	for k := range w.ticks {
		fences = append(fences, w.ticks[k].fence)
		for i := range w.ticks[k].facts {
			fences = append(fences, w.ticks[k].facts[i].fence)
		}
	}
	for i := range w.Runs {
		fences = append(fences, w.Runs[i].Fence)
	}
	fences = append(fences, w.SpentFence)
	slices.Sort(fences)
	fences = slices.Compact(fences)
	put := func(values ...int64) {
		for _, v := range values {
			b = binary.AppendVarint(b, v)
		}
	}
	fence := func(f int64) {
		i, _ := slices.BinarySearch(fences, f)
		put(int64(i))
	}
	put(w.ms, w.Mark, w.Last, int64(w.pauses), int64(w.cancels), int64(flag(w.Paused)), w.Pause.Since, int64(w.SpentAs))
	b = append(b, w.SpentBy...)
	fence(w.SpentFence)
	for i := range w.Runs {
		r := &w.Runs[i]
		put(r.Number, int64(r.State), int64(r.Attempt), r.Until, int64(flag(r.Replaced)), int64(flag(r.Cancelled)), int64(r.Shards), r.Granted)
		b = append(b, r.Owner...)
		fence(r.Fence)
	}
	put(-1)
	for i := range w.Sheet.Shards {
		h := &w.Sheet.Shards[i]
		put(int64(h.State), int64(h.Attempt), h.Until, int64(flag(h.OK)))
		b = append(b, h.Owner...)
		fence(h.Fence)
	}
	put(-2)
	for k := range w.ticks {
		t := &w.ticks[k]
		put(int64(t.shards), int64(flag(t.summed)), int64(flag(t.ok)))
		for i := range t.facts {
			f := &t.facts[i]
			put(int64(f.attempt), int64(flag(f.open)), int64(flag(f.ended)), int64(flag(f.ok)))
			if f.open {
				put(f.until)
			}
			fence(f.fence)
		}
	}
	for i := range w.held {
		put(w.held[i].Number, int64(w.held[i].Shard))
		b = append(b, w.held[i].Owner...)
		fence(w.held[i].Fence)
	}
	put(-3, w.asked.Number)
	fence(w.asked.From)
	b = append(b, w.asked.Owner...)
	if c := w.asked.Sharding; c != nil {
		put(int64(c.Shards), int64(c.Most))
	}
	return b
}
