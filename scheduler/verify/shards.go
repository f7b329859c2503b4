package verify

import (
	"slices"

	"github.com/cronce/cronce/lock/series"
)

// summed checks the shards of a sharded tick by the line with its end. Stores may drop the text that has them.
func (p *proof) summed(r *run, l *series.Line) {
	if l.Shards == 0 && r.shards == 0 {
		return
	}
	if r.shards != 0 && l.Shards != r.shards {
		p.violate("S5", l.To, "ended %s with %d shards, and was granted with %d", l.Outcome, l.Shards, r.shards)
	}
	if l.Sheet == "" {
		return
	}
	shards, err := series.ReadSheet(l.Sheet, l.Fence, r.granted)
	if err != nil {
		p.fault("the shards of the tick %s cannot be read: %v", stamp(l.To), err)
		return
	}
	if p.counted(r.tick) {
		p.report.RerunShards += l.RerunShards()
	}
	p.shardFences(l, shards)
	if len(shards) != l.Shards {
		p.violate("S3", l.To, "ended %s with the verdicts of %d shards, and has %d", l.Outcome, len(shards), l.Shards)
		return
	}
	p.sums(l, shards)
}

// shardFences checks that the shards of a tick have fences of their own, above the fence of the tick.
func (p *proof) shardFences(l *series.Line, shards []series.Shard) {
	seen := make(map[int64]int, len(shards))
	for i := range shards {
		fence := shards[i].Fence
		if fence == 0 { // it was never granted
			continue
		}
		if fence <= l.Fence {
			p.violate("S2", l.To, "fence %d of shard %d is not above %d, which the tick has", fence, i, l.Fence)
		}
		if k, twice := seen[fence]; twice {
			p.violate("S2", l.To, "shards %d and %d have the fence %d", k, i, fence)
		}
		seen[fence] = i
		p.shardFence = max(p.shardFence, fence)
	}
}

// sums checks that the verdicts of the shards give the outcome of their tick. The journal does not have whether one good
// shard is enough.
func (p *proof) sums(l *series.Line, shards []series.Shard) {
	strict, lenient := series.Sheet{Shards: shards}, series.Sheet{Shards: shards, FailAll: true}
	sum := strict.Count()
	allowed := []string{sum.Outcome, lenient.Count().Outcome}
	if sum.Outcome == series.OutcomeLost { // an earlier version had counted a shard as failed whose own node found its lease lost
		allowed = append(allowed, series.OutcomeFailed)
	}
	if !slices.Contains(allowed, l.Outcome) {
		p.violate("S3", l.To, "ended %s, and of its %d shards %d are ok, %d failed, %d lost, %d missed and %d cancelled",
			l.Outcome, sum.Shards, sum.OK, sum.Failed, sum.Lost, sum.Missed, sum.Cancelled)
	}
}
