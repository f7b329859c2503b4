package lock

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// CheckName refuses a node, or what else argument names, that is empty, longer
// than MaxKey bytes, does not print, or has one of the characters | and ; that
// stores keep for themselves.
func CheckName(argument, name string) error {
	if name == "" {
		return refuse(argument, `""`, allowedName)
	}
	return checkWord(argument, name)
}

const allowedName = "1 to 200 bytes of printable UTF-8 without | and ;"

// checkWord is CheckName for what may be empty.
func checkWord(argument, word string) error {
	if strings.IndexByte(word, '|') >= 0 || strings.IndexByte(word, ';') >= 0 || !prints(word) {
		return refuse(argument, quote(word), allowedName)
	}
	return nil
}

// CheckAcquisition refuses what no store could answer.
func CheckAcquisition(a *Acquisition) error {
	return first(
		CheckKey(a.Key),
		CheckName("owner", a.Owner),
		CheckTTL(a.TTL),
		inRange("fence", a.Fence, 0),
		checkLimit(a.Limit),
		checkReplicas(a.Replicas),
	)
}

func checkLimit(limit int) error {
	if limit < 0 || limit > NoLimit {
		return refuse("limit", fmt.Sprint(limit), "0 and 1: alone, up to NoLimit: as many")
	}
	return nil
}

// CheckSeveral refuses acquisitions that no store could answer in one step.
func CheckSeveral(as []Acquisition) error {
	if err := checkKeys(len(as)); err != nil {
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

// CheckHolding refuses a renewal of a plain lease that no store could answer.
func CheckHolding(h *Holding) error {
	return first(
		CheckKey(h.Key),
		CheckName("owner", h.Owner),
		CheckTTL(h.TTL),
		inRange("fence", h.Fence, 1),
		checkReplicas(h.Replicas),
	)
}

// CheckRelease refuses a release of a plain lease that no store could answer.
func CheckRelease(h *Holding) error {
	return first(
		CheckKey(h.Key),
		CheckName("owner", h.Owner),
		inRange("fence", h.Fence, 0),
	)
}

// CheckOpening refuses what no store could answer.
func CheckOpening(o *Opening) error {
	return first(
		CheckKey(o.Key),
		CheckName("node", o.Node),
		checkWord("revision", o.Revision),
		checkWord("policies", o.Policies),
		inRange("mark", o.Mark, 0),
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

// CheckRun refuses a renewal of a run that no store could answer.
func CheckRun(r *RunRef) error {
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

// CheckEnding refuses what no store could answer. The TTL does not matter.
func CheckEnding(e *Ending) error {
	if e.How > GivenBack {
		return refuse("how", fmt.Sprint(e.How), "one of the three ways to end")
	}
	return first(checkRun(&e.RunRef), checkWord("outcome", e.Outcome), checkErrorText(e.Error))
}

func checkErrorText(text string) error {
	if len(text) > MaxErrorText || !utf8.ValidString(text) {
		return refuse("error", quote(text), fmt.Sprintf("at most %d bytes of UTF-8", MaxErrorText))
	}
	return nil
}

// ErrorText returns what a journal keeps of an error's text: the first MaxErrorText
// bytes, cut between characters. Bytes that are no UTF-8 become U+FFFD. Control
// characters stay as they are.
func ErrorText(text string) string {
	if len(text) > 2*MaxErrorText {
		text = text[:2*MaxErrorText] // more is not looked at, however long it is
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= MaxErrorText {
		return text
	}
	end := MaxErrorText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// CheckChange refuses a pause or a resume that no store could answer.
func CheckChange(key string, change int64) error {
	return first(CheckKey(key), inRange("change", change, 1))
}

// CheckBeat refuses what no store could answer.
func CheckBeat(node string, ttl time.Duration) error {
	return first(CheckName("node", node), CheckTTL(ttl))
}

func inRange(argument string, n, least int64) error {
	if n < least || n > MaxNumber {
		return refuse(argument, fmt.Sprint(n), fmt.Sprintf("%d to %d", least, int64(MaxNumber)))
	}
	return nil
}

func notNegative(argument string, d time.Duration) error {
	if d < 0 {
		return refuse(argument, d.String(), "0 or more")
	}
	return nil
}

// first returns the first of the errors that is one.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
