package driver

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// CheckForce refuses a forced unlock that no store could answer.
func CheckForce(f *ForceRequest) error {
	if err := first(CheckKey(f.Key), CheckName("ID", f.ID), CheckName("by", f.By)); err != nil {
		return err
	}
	if f.Reason == "" || len(f.Reason) > MaxReason || !prints(f.Reason) {
		return refuse("reason", quote(f.Reason), fmt.Sprintf("1 to %d bytes of printable UTF-8", MaxReason))
	}
	if f.From < 0 || f.From > f.To || f.To > MaxNumber {
		return refuse("fences", fmt.Sprintf("%d to %d", f.From, f.To), fmt.Sprintf("0 to %d, the first not above the last", int64(MaxNumber)))
	}
	return nil
}

// checkReplicas refuses what no store could wait for.
func checkReplicas(n int) error {
	if n < 0 || n > MaxReplicas {
		return refuse("replicas", fmt.Sprint(n), fmt.Sprintf("0 to %d", MaxReplicas))
	}
	return nil
}

// CheckAcquisition refuses what no store could answer.
func CheckAcquisition(a *Acquisition) error {
	return first(checkLease(a.Key, a.Owner, a.Fence, 0), CheckTTL(a.TTL), checkLimit(a.Limit), checkReplicas(a.Replicas))
}

// checkLease refuses what names a plain lease, with a fence from least on.
func checkLease(key, owner string, fence, least int64) error {
	return first(CheckKey(key), CheckName("owner", owner), inRange("fence", fence, least))
}

func checkLimit(limit int) error {
	if limit < 0 || limit > NoLimit {
		return refuse("limit", fmt.Sprint(limit), "0 and 1: alone, up to NoLimit: as many")
	}
	return nil
}

// CheckAcquireAll refuses acquisitions that no store could answer in one step.
func CheckAcquireAll(as []Acquisition) error {
	if err := checkCount(len(as)); err != nil {
		return err
	}
	keys := make(map[string]bool, len(as))
	for i := range as {
		a := &as[i]
		switch {
		case keys[a.Key]:
			return refuse("key", quote(a.Key), "each key once")
		case a.Owner != as[0].Owner:
			return refuse("owner", quote(a.Owner), "one owner for all keys")
		}
		if err := CheckAcquisition(a); err != nil {
			return err
		}
		keys[a.Key] = true
	}
	return nil
}

// CheckRenewal refuses a renewal of a plain lease that no store could answer.
func CheckRenewal(h *LeaseRef) error {
	return first(checkLease(h.Key, h.Owner, h.Fence, 1), CheckTTL(h.TTL), checkReplicas(h.Replicas))
}

// CheckRelease refuses a release of a plain lease that no store could answer.
func CheckRelease(h *LeaseRef) error {
	return checkLease(h.Key, h.Owner, h.Fence, 0)
}

// CheckOpen refuses what no store could answer.
func CheckOpen(o *OpenRequest) error {
	return first(
		CheckKey(o.Key),
		CheckName("node", o.Node),
		checkWord("revision", o.Revision),
		checkWord("policies", o.Policies),
		inRange("mark", o.Mark, 0),
		inRange("begin", o.Begin, 0),
		notNegative("unseen", o.Unseen),
	)
}

// CheckClaim refuses what no store could answer.
func CheckClaim(c *Claim) error {
	return first(
		CheckKey(c.Key),
		CheckName("owner", c.Owner),
		inRange("number", c.Number, 1),
		CheckTTL(c.TTL),
		checkAfter(c),
		inRange("from", c.From, 0),
		inRange("fence", c.Fence, 0),
		inRange("latest", c.Latest, 0),
		checkPolicy(c),
		checkWord("late", c.Late),
		checkWord("revision", c.Revision),
		checkReplicas(c.Replicas),
	)
}

func checkAfter(c *Claim) error {
	if c.After < 0 || c.After >= c.Number {
		return refuse("after", fmt.Sprint(c.After), "0 or more, below the number")
	}
	return inRange("between", int64(c.Between), 0)
}

func checkPolicy(c *Claim) error {
	if c.Overlap > OverlapReplace {
		return refuse("overlap", fmt.Sprint(c.Overlap), "one of the four policies")
	}
	return first(
		inRange("attempts", int64(c.Attempts), 1),
		notNegative("deadline", c.Deadline),
		notNegative("window", c.Window),
	)
}

// CheckRunRenewal refuses a renewal of a run that no store could answer.
func CheckRunRenewal(r *RunRef) error {
	return first(checkRun(r), CheckTTL(r.TTL), checkReplicas(r.Replicas))
}

func checkRun(r *RunRef) error {
	return first(
		CheckKey(r.Key),
		CheckName("owner", r.Owner),
		inRange("number", r.Number, 1),
		inRange("fence", r.Fence, 1),
	)
}

// CheckEnd refuses what no store could answer. The TTL does not matter.
func CheckEnd(e *EndRequest) error {
	if e.Kind > EndGivenBack {
		return refuse("kind", fmt.Sprint(e.Kind), "one of the three ways to end")
	}
	return first(checkRun(&e.RunRef), checkWord("outcome", e.Outcome), checkErrorText(e.Error))
}

func checkErrorText(text string) error {
	if len(text) > MaxErrorText || !utf8.ValidString(text) {
		return refuse("error", quote(text), fmt.Sprintf("at most %d bytes of UTF-8", MaxErrorText))
	}
	return nil
}

// CheckBeat refuses what no store could answer.
func CheckBeat(node string, ttl time.Duration) error {
	return first(CheckName("node", node), CheckTTL(ttl))
}
