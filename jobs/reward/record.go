package reward

import (
	"fmt"
	"log/slog"
	"time"
)

// A State is where a reward of a family is in its life. It goes on and never back:
//
//	offered ──▶ claimed ──▶ delivered
//	   └───────────┴──────▶ withdrawn
type State string

// The states.
const (
	Offered   State = "offered"   // a member may claim it
	Claimed   State = "claimed"   // a member has it
	Delivered State = "delivered" // and got what it stands for
	Withdrawn State = "withdrawn" // it is not to be had any more
)

// A Record says what became of a reward of a family. Printed, also as part of a log line,
// it shows a masked family and member.
type Record struct {
	Claim
	State State
	At    time.Time // when it was claimed, on the database's clock, in UTC to the millisecond; zero: it was not
	Fence int64     // of the lease under which it was claimed

	Offered, Delivered, Withdrawn time.Time // zero: it was not
}

// String is for people and logs: family and member are masked.
func (r Record) String() string {
	if r.Member == "" {
		return fmt.Sprintf("reward %q for family %q, %s", cut(r.Reward), Mask(r.Family), r.State)
	}
	return fmt.Sprintf("%s at %s", r.Claim, r.At.Format(timeFormat))
}

// GoString is String, so that %#v shows no more.
func (r Record) GoString() string { return r.String() }

// LogValue is the record in a log, with a masked family and member.
func (r Record) LogValue() slog.Value { return slog.GroupValue(r.attrs()...) }

func (r Record) attrs() []slog.Attr {
	return append(r.Claim.attrs(), slog.String("at", r.At.Format(timeFormat)), slog.Int64("fence", r.Fence))
}

const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// A TakenError is the answer that the family has the reward already. Its text
// masks family and member; its fields are for the program that asked. Match it
// with errors.AsType[*TakenError].
type TakenError struct {
	Family string
	Reward string
	Member string    // that has it
	At     time.Time // since when, on the database's clock
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("reward: family %q has reward %q since %s, through member %q",
		Mask(e.Family), e.Reward, e.At.Format(timeFormat), Mask(e.Member))
}

// GoString is Error, so that %#v shows no more.
func (e *TakenError) GoString() string { return e.Error() }

// The parts of a name that Mask may show.
const (
	maskHead   = 2
	maskHidden = 3 // at least so many characters are never shown
)

// Mask shows the first two characters of a family or a member and hides the rest,
// its length included: "family-4711" becomes "fa****". Of a name shorter than five
// characters only the first is shown, and none of one shorter than four. The name
// need not be valid.
func Mask(name string) string {
	runes := []rune(name)
	head := min(maskHead, len(runes)-maskHidden)
	if name == "" {
		return ""
	}
	return string(runes[:max(0, head)]) + "****"
}

// cut keeps an error from being flooded.
func cut(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:most], len(s))
}
