package series

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/lock/driver"
)

// Check returns an *ArgumentError for an opening that no store supports.
func (o *OpenRequest) Check() error {
	return cmp.Or(
		driver.CheckKey(o.Key),
		driver.CheckName("node", o.Node),
		driver.CheckWord("revision", o.Revision),
		driver.CheckWord("policies", o.Policies),
		driver.CheckRange("mark", o.Mark, 0),
		driver.CheckRange("begin", o.Begin, 0),
		notNegative("unseen", o.Unseen),
	)
}

// Check returns an *ArgumentError for a claim that no store supports.
func (c *Claim) Check() error {
	return cmp.Or(
		driver.CheckKey(c.Key),
		driver.CheckName("owner", c.Owner),
		driver.CheckRange("number", c.Number, 1),
		driver.CheckTTL(c.TTL),
		checkAfter(c),
		driver.CheckRange("from", c.From, 0),
		driver.CheckRange("fence", c.Fence, 0),
		driver.CheckRange("latest", c.Latest, 0),
		checkPolicy(c),
		driver.CheckWord("late", c.Late),
		driver.CheckWord("revision", c.Revision),
		checkSharding(c),
		driver.CheckReplicas(c.Replicas),
	)
}

func checkAfter(c *Claim) error {
	if c.After < 0 || c.After >= c.Number {
		return driver.Refuse("after", fmt.Sprint(c.After), "0 or more, below the number")
	}
	return driver.CheckRange("between", int64(c.Between), 0)
}

func checkPolicy(c *Claim) error {
	return cmp.Or(
		checkOverlap(c.Overlap),
		driver.CheckRange("attempts", int64(c.Attempts), 1),
		notNegative("deadline", c.Deadline),
		notNegative("window", c.Window),
	)
}

func checkOverlap(o Overlap) error {
	if o > OverlapReplace {
		return driver.Refuse("overlap", fmt.Sprint(o), "one of the four policies")
	}
	return nil
}

// Check returns an *ArgumentError for a renewal of a run that no store supports.
func (r *RunRef) Check() error {
	return cmp.Or(checkRun(r), driver.CheckTTL(r.TTL), driver.CheckReplicas(r.Replicas))
}

func checkRun(r *RunRef) error {
	return cmp.Or(
		driver.CheckKey(r.Key),
		driver.CheckName("owner", r.Owner),
		driver.CheckRange("number", r.Number, 1),
		driver.CheckRange("fence", r.Fence, 1),
		checkShard(r),
	)
}

// Check returns an *ArgumentError for an end that no store supports. It does not check the TTL.
func (e *EndRequest) Check() error {
	if s := e.stateAfter(); s != RunDone && s != RunUnstarted && s != RunGivenBack {
		return driver.Refuse("state", fmt.Sprint(e.State), "RunDone, RunUnstarted or RunGivenBack")
	}
	return cmp.Or(checkRun(&e.RunRef), checkOutcome(e), checkErrorText(e.Error))
}

// checkOutcome refuses the characters that separate the fields of a sheet.
func checkOutcome(e *EndRequest) error {
	if e.Shards > 0 && strings.ContainsAny(e.Outcome, ",+") {
		return driver.Refuse("outcome", driver.Quote(e.Outcome), "no comma and no plus in the outcome of a shard")
	}
	return driver.CheckWord("outcome", e.Outcome)
}

func checkErrorText(text string) error {
	if len(text) > MaxErrorText || !utf8.ValidString(text) {
		return driver.Refuse("error", driver.Quote(text), fmt.Sprintf("at most %d bytes of UTF-8", MaxErrorText))
	}
	return nil
}

// checkBeat returns an *ArgumentError for a beat that no store supports.
func checkBeat(b Beat) error {
	return cmp.Or(driver.CheckName("node", b.Node), driver.CheckTTL(b.TTL))
}

func notNegative(argument string, d time.Duration) error {
	if d < 0 {
		return driver.Refuse(argument, d.String(), "0 or more")
	}
	return nil
}

func checkSharding(c *Claim) error {
	h := c.Sharding
	if h == nil {
		return nil
	}
	if h.Shards < 1 || h.Shards > MaxShards {
		return driver.Refuse("shards", fmt.Sprint(h.Shards), fmt.Sprintf("1 to %d", MaxShards))
	}
	if c.Overlap == OverlapAllow {
		return driver.Refuse("overlap", "allow", "another policy for a sharded number")
	}
	if h.Broadcast {
		return checkBroadcast(h)
	}
	bytes := 0
	for _, p := range h.Params {
		if len(p) > MaxParam || !driver.Printable(p) {
			return driver.Refuse("params", driver.Quote(p), fmt.Sprintf("at most %d bytes of printable UTF-8", MaxParam))
		}
		bytes += len(p)
	}
	if len(h.Params) > h.Shards || bytes > MaxParams {
		return driver.Refuse("params", fmt.Sprintf("%d of %d bytes", len(h.Params), bytes), fmt.Sprintf("one for each shard, together at most %d bytes", MaxParams))
	}
	for _, i := range h.Want {
		if i < 0 || i >= MaxShards {
			return driver.Refuse("want", fmt.Sprint(i), fmt.Sprintf("0 to %d", MaxShards-1))
		}
	}
	return driver.CheckRange("most", int64(h.Most), 1)
}

// checkBroadcast checks that each shard has a node of its own.
func checkBroadcast(h *Sharding) error {
	if len(h.Params) != h.Shards {
		return driver.Refuse("params", fmt.Sprintf("%d nodes", len(h.Params)), fmt.Sprintf("one for each of %d shards of a broadcast", h.Shards))
	}
	seen := make(map[string]bool, len(h.Params))
	for _, node := range h.Params {
		if err := driver.CheckName("params", node); err != nil {
			return err
		}
		if seen[node] {
			return driver.Refuse("params", driver.Quote(node), "each node once")
		}
		seen[node] = true
	}
	return driver.CheckRange("most", int64(h.Most), 1)
}

func checkShard(r *RunRef) error {
	if r.Shards < 0 || r.Shards > MaxShards || r.Shard < 0 || r.Shard >= max(r.Shards, 1) {
		return driver.Refuse("shard", fmt.Sprintf("%d of %d", r.Shard, r.Shards), fmt.Sprintf("below the number of shards, which is at most %d", MaxShards))
	}
	return nil
}
