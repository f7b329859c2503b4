package series

import (
	"cmp"
	"fmt"
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
	)
}

// Check returns an *ArgumentError for an end that no store supports. It does not check the TTL.
func (e *EndRequest) Check() error {
	if s := e.stateAfter(); s != RunDone && s != RunUnstarted && s != RunGivenBack {
		return driver.Refuse("state", fmt.Sprint(e.State), "RunDone, RunUnstarted or RunGivenBack")
	}
	return cmp.Or(checkRun(&e.RunRef), driver.CheckWord("outcome", e.Outcome), checkErrorText(e.Error))
}

func checkErrorText(text string) error {
	if len(text) > MaxErrorText || !utf8.ValidString(text) {
		return driver.Refuse("error", driver.Quote(text), fmt.Sprintf("at most %d bytes of UTF-8", MaxErrorText))
	}
	return nil
}

// checkBeat returns an *ArgumentError for a beat that no store supports.
func checkBeat(node string, ttl time.Duration) error {
	return cmp.Or(driver.CheckName("node", node), driver.CheckTTL(ttl))
}

func notNegative(argument string, d time.Duration) error {
	if d < 0 {
		return driver.Refuse(argument, d.String(), "0 or more")
	}
	return nil
}
