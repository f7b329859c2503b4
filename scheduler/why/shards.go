package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// The words for shards that have not ended.
const (
	shardRunning = "running"
	shardOver    = "over" // a node settles it, or takes it over
	shardFree    = "free"
)

// shardWords are the words for shards, in the order of the sentence. Other ones follow them.
var shardWords = []string{
	series.OutcomeOK, series.OutcomeSkipped, series.OutcomeFailed, series.OutcomePanic, series.OutcomeTimeout, series.OutcomeLost,
	series.OutcomeReplaced, series.OutcomeCancelled, series.OutcomeInterrupted,
	string(series.VerdictMissed), string(series.VerdictPaused), string(series.VerdictSuperseded),
	shardRunning, shardOver, shardFree,
}

// Bounds of the lists in the sentence.
const (
	mostShards = 8
	mostNodes  = 5
)

// shardsOf returns into how many shards the tick is divided; 0: it is not.
func (c *tickCase) shardsOf() int {
	if c.run != nil {
		return c.run.Shards
	}
	for _, l := range c.own {
		if l.Shards > 0 {
			return l.Shards
		}
	}
	return 0
}

// shards returns the shards of the tick, from the state while it goes on, and then from its last line; nil: they are
// not on record.
func (c *tickCase) shards() []series.Shard {
	if c.run != nil {
		return named(&c.State.Sheet)
	}
	for _, l := range c.own {
		if shards, err := series.ReadSheet(l.Sheet, l.Fence, l.At); err == nil {
			return shards
		}
	}
	return nil
}

// named returns the shards of a live tick. A shard of a broadcast that has not started has its node too.
func named(s *series.Sheet) []series.Shard {
	if !s.Broadcast {
		return s.Shards
	}
	shards := slices.Clone(s.Shards)
	for i := range shards {
		shards[i].Owner = cmp.Or(shards[i].Owner, s.Params[i]+"/")
	}
	return shards
}

// divided returns the sentence about the shards of the tick, or "".
func (c *tickCase) divided() string {
	n, shards := c.shardsOf(), c.shards()
	switch {
	case n == 0:
		return ""
	case len(shards) == 0:
		return fmt.Sprintf(" Divided into %s, whose verdicts are not on record.", counted(n, "shard"))
	}
	words, by, all := slices.Clone(shardWords), map[string][]int{}, []string{}
	again := 0 // shards whose node had died, or had given them back
	for i := range shards {
		word := c.shardWord(&shards[i])
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
		by[word] = append(by[word], i)
		if shards[i].Fence != 0 {
			all = append(all, driver.NodeOf(shards[i].Owner))
		}
		if shards[i].Attempt > 1 {
			again++
		}
	}
	var parts []string
	for _, word := range words {
		if of := by[word]; len(of) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s", len(of), word, shardDetail(word, of, shards)))
		}
	}
	slices.Sort(all)
	text := fmt.Sprintf(" Divided into %s on %s: %s.", counted(n, "shard"), counted(len(slices.Compact(all)), "node"), strings.Join(parts, ", "))
	if again > 0 {
		text += fmt.Sprintf(" %d of them needed another attempt.", again)
	}
	return text
}

// unshared returns why no shard of the tick runs although some are free, as a part of a sentence, or "".
func (c *tickCase) unshared() string {
	latest := c.run.Granted
	for i := range c.State.Sheet.Shards {
		h := &c.State.Sheet.Shards[i]
		if c.shardWord(h) == shardRunning {
			return ""
		}
		latest = max(latest, h.Ended)
	}
	switch {
	case c.State.Sheet.Broadcast, c.ago(latest) <= verify.DefaultGrace: // it waits for the named nodes, or between two shards
		return ""
	case c.Removed:
		return ", and no shard of it is alive" + c.retires()
	}
	return ", and no shard of it is alive" + c.cause()
}

// shardWord returns how a shard ended, or how it stands.
func (c *tickCase) shardWord(h *series.Shard) string {
	switch {
	case h.State >= series.RunDone:
		return h.Outcome
	case h.State == series.RunOpen && c.State.Now < h.Until:
		return shardRunning
	case h.State == series.RunNone:
		return shardFree
	}
	return shardOver
}

// shardDetail returns on which nodes shards run, or which of them did not end ok, each with its node.
func shardDetail(word string, of []int, shards []series.Shard) string {
	switch word {
	case series.OutcomeOK:
		return ""
	case shardFree:
		if shards[of[0]].Owner == "" { // any node may start it
			return ""
		}
	case shardRunning:
		var nodes []string
		for _, i := range of {
			nodes = append(nodes, driver.NodeOf(shards[i].Owner))
		}
		slices.Sort(nodes)
		if nodes = slices.Compact(nodes); len(nodes) > mostNodes {
			return fmt.Sprintf(" on %d nodes", len(nodes))
		}
		return " on " + strings.Join(nodes, " and ")
	}
	var texts []string
	for _, i := range of[:min(mostShards, len(of))] {
		text := fmt.Sprint(i)
		if node := driver.NodeOf(shards[i].Owner); node != "" {
			text += " on " + node
		}
		if why := shards[i].Error; why != "" {
			text += ": " + why
		}
		texts = append(texts, text)
	}
	text := strings.Join(texts, ", ")
	if more := len(of) - len(texts); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return " (" + text + ")"
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
