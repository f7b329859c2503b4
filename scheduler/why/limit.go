package why

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/text"
	"github.com/cronce/cronce/scheduler/policy"
)

// A Limited says how a run that is alive stands to the limit of its job.
type Limited struct {
	policy.Limit
	// Held is how many places the run has: 1 or 0, and with shards up to their number.
	Held int `json:"held"`
	// Waits reports that the run has no place, and that all places are taken.
	Waits bool `json:"waits"`
	// Holders are the runs that have places, the earliest grant first, as job@tick or
	// job@tick#shard; of a lease without a note, its owner. Nil: not known.
	Holders []string `json:"holders"`
}

// LimitOf returns the limit in the policies of the spec that was used last; zero: there is none.
func LimitOf(uses []series.RevisionUse) policy.Limit { return policiesOf(uses).Limit }

// policiesOf returns the policies of the spec that was used last; zero: none is recorded.
func policiesOf(uses []series.RevisionUse) (policies policy.Record) {
	if last := LastUsed(uses); last != nil {
		policies, _ = policy.Parse(last.Policies) // an unreadable policy becomes the default
	}
	return policies
}

// limited returns how the run of the tick stands to its limit; nil: it has none, or is not alive.
func (c *tickCase) limited() *Limited {
	l := Limited{Limit: LimitOf(c.Journal.Revisions)}
	if l.Of == 0 || c.state != Running || c.run == nil {
		return nil
	}
	if c.Places == nil {
		return &l
	}
	own := policy.PlaceNote(c.Journal.Key + "@" + text.Tick(c.ms))
	l.Holders = []string{}
	for i := range c.Places {
		h := &c.Places[i]
		owner, note, found := driver.CutNote(h.Owner)
		if !found {
			note = owner
		}
		if l.Of = min(l.Of, h.Limit); h.Fence != 0 && (note == own || strings.HasPrefix(note, own+"#")) {
			l.Held++
		}
		l.Holders = append(l.Holders, note)
	}
	l.Waits = l.Held == 0 && len(l.Holders) >= l.Of
	return &l
}

// mostHolders bounds the holders that the sentence names.
const mostHolders = 5

// sentence returns the sentence about the places, or "".
func (l *Limited) sentence(shards bool) string {
	var begin string
	switch {
	case l == nil:
		return ""
	case l.Holders == nil:
		return fmt.Sprintf(" Whether it has a place in the limit %s is not known.", l.Name)
	case l.Held > 0 && shards:
		begin = "Its shards have " + counted(l.Held, "place")
	case l.Held > 0:
		begin = "It has a place"
	case l.Waits:
		begin = "It waits for a place"
	default:
		begin = "It has no place"
	}
	taken := ""
	if named := l.Holders[:min(mostHolders, len(l.Holders))]; len(named) > 0 {
		taken = ", by " + strings.Join(named, ", ")
	}
	if more := len(l.Holders) - mostHolders; more > 0 {
		taken += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf(" %s in the limit %s: %d of %d taken%s.", begin, l.Name, len(l.Holders), l.Of, taken)
}
