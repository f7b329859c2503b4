package ops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A ShardCount counts the shards of a tick by how they stand. Only Of is known if the store does not have them any more.
type ShardCount struct {
	Of        int `json:"of"`
	OK        int `json:"ok,omitempty"`
	Failed    int `json:"failed,omitempty"`
	Lost      int `json:"lost,omitempty"`
	Missed    int `json:"missed,omitempty"`    // they never started
	Cancelled int `json:"cancelled,omitempty"` // also those that had not started
	Running   int `json:"running,omitempty"`
	Waiting   int `json:"waiting,omitempty"` // for a node that starts them, takes them over or settles them
	Rerun     int `json:"rerun,omitempty"`   // of all these: they had another attempt, since their node had died or had given them back
}

// String returns the counts in words, as "98 of 100 shards ok, 1 failed, 1 lost, 2 needed another attempt".
func (c *ShardCount) String() string {
	var parts []string
	for _, part := range []struct {
		n    int
		word string
	}{{c.Failed, "failed"}, {c.Lost, "lost"}, {c.Missed, "missed"}, {c.Cancelled, "cancelled"}, {c.Running, "running"}, {c.Waiting, "waiting"}, {c.Rerun, "needed another attempt"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.word))
		}
	}
	if c.OK == 0 && len(parts) == 0 {
		return plural(c.Of, "shard")
	}
	return strings.Join(append([]string{fmt.Sprintf("%d of %s ok", c.OK, plural(c.Of, "shard"))}, parts...), ", ")
}

// countShards counts the shards of a tick. Now is the store's clock.
func countShards(s *series.Sheet, now int64) *ShardCount {
	sum := s.Count()
	c := ShardCount{Of: sum.Shards, OK: sum.OK, Failed: sum.Failed, Lost: sum.Lost, Missed: sum.Missed, Cancelled: sum.Cancelled}
	for i := range s.Shards {
		h := &s.Shards[i]
		if h.Attempt > 1 {
			c.Rerun++
		}
		switch {
		case h.State >= series.RunDone:
		case h.State == series.RunOpen && now < h.Until:
			c.Running++
		default:
			c.Waiting++
		}
	}
	return &c
}

// settledShards counts the shards by the line with the end of their tick, and returns the first error of them.
func settledShards(l *series.Line) (*ShardCount, string) {
	shards, err := series.ReadSheet(l.Sheet, l.Fence, 0)
	if err != nil {
		return &ShardCount{Of: l.Shards}, ""
	}
	failure := ""
	if i := slices.IndexFunc(shards, func(h series.Shard) bool { return h.Error != "" }); i >= 0 {
		failure = fmt.Sprintf("shard %d: %s", i, shards[i].Error)
	}
	return countShards(&series.Sheet{Shards: shards}, 0), failure
}

// A ShardRun is the result of one shard of a tick.
type ShardRun struct {
	Shard   int    `json:"shard"`
	Verdict string `json:"verdict"` // its outcome, or the reason why it has none; running or waiting: it has not ended
	Node    string `json:"node,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Fence   int64  `json:"fence,omitempty"`
	LateMs  *int64 `json:"late_ms,omitempty"` // from the tick, or from the request of a manual run, to its first grant
	TookMs  *int64 `json:"took_ms,omitempty"` // from its grant to its end; not known after the first attempt, since only the first grant is on record
	Error   string `json:"error,omitempty"`   // of the first shards that ended badly
	Param   string `json:"param,omitempty"`   // only known while the tick goes on
}

// GrantedWith returns the shard that was granted last with this fence, or nil. The output of a tick has such a fence.
func GrantedWith(fence int64, shards []ShardRun) *ShardRun {
	i := slices.IndexFunc(shards, func(h ShardRun) bool { return h.Fence == fence && fence != 0 })
	if i < 0 {
		return nil
	}
	return &shards[i]
}

// String returns the shard in words, as "shard 3 on web-1, failed".
func (h *ShardRun) String() string {
	text := fmt.Sprintf("shard %d", h.Shard)
	if h.Node != "" {
		text += " on " + h.Node
	}
	return text + ", " + h.Verdict
}

// Shards returns the shards of a tick in their order: while it goes on, from the state of the job, and then from its
// journal. It returns nil if they are not known.
func Shards(j *series.Journal, s *series.Series, number int64) []ShardRun {
	for i := range s.Runs {
		if r := &s.Runs[i]; r.Number == number && r.Shards > 0 {
			return shardRuns(&s.Sheet, number, s.Now)
		}
	}
	granted := int64(0)
	for _, l := range j.All() {
		if l.To != number || l.Shards == 0 {
			continue
		}
		if l.Verdict == series.VerdictRan {
			granted = l.At
		}
		if shards, err := series.ReadSheet(l.Sheet, l.Fence, granted); err == nil {
			return shardRuns(&series.Sheet{Shards: shards}, number, s.Now)
		}
	}
	return nil
}

func shardRuns(s *series.Sheet, number, now int64) []ShardRun {
	runs := make([]ShardRun, len(s.Shards))
	for i := range s.Shards {
		h := &s.Shards[i]
		r := ShardRun{Shard: i, Verdict: h.Outcome, Node: driver.NodeOf(h.Owner), Attempt: h.Attempt, Fence: h.Fence, Error: h.Error}
		switch {
		case h.Outcome != "":
		case h.State == series.RunOpen && now < h.Until:
			r.Verdict = string(Running)
		default:
			r.Verdict = string(Waiting)
		}
		if h.Granted >= number-earlyGrant { // otherwise it was not granted, or the line of the opening is gone
			r.LateMs = new(max(0, h.Granted-number))
		}
		if h.Ended != 0 && h.Attempt == 1 {
			r.TookMs = new(h.Ended - h.Granted)
		}
		switch {
		case i >= len(s.Params):
		case s.Broadcast:
			r.Node = s.Params[i] // also of a shard that has not started
		default:
			r.Param = s.Params[i]
		}
		runs[i] = r
	}
	return runs
}
