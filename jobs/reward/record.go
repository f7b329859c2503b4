package reward

import (
	"fmt"
	"log/slog"
	"time"
)

// A State is the state of a family's reward. It only moves forward:
//
//	offered ──▶ claimed ──▶ delivered
//	   └───────────┴──────▶ withdrawn
type State string

// The states.
const (
	Offered   State = "offered"   // a member may claim it
	Claimed   State = "claimed"   // a member has it
	Delivered State = "delivered" // the member got it
	Withdrawn State = "withdrawn" // no member can claim it any more
)

// A Record is the state of a family's reward. Printed or logged, it shows a masked family and
// member.
type Record struct {
	Claim
	State State
	At    time.Time // when it was claimed, on the database's clock, in UTC to the millisecond; zero: it was not
	Fence int64     // fence of the lease under which it was claimed

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

// A TakenError means that the family already has the reward. Its text masks family and member; its
// fields do not. Match it with errors.AsType[*TakenError].
type TakenError struct {
	Family string
	Reward string
	Member string    // the member that has it
	At     time.Time // when it was claimed, by the database's clock
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
	maskHidden = 3 // least number of hidden characters
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

// cut bounds a text, so that input cannot flood an error.
func cut(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:most], len(s))
}
