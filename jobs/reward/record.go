package reward

import (
	"fmt"
	"time"

	"go.uber.org/zap/zapcore"
)

// A Record says that a family got a reward. Printed, also as part of a log line,
// it shows a masked family and member.
type Record struct {
	Claim
	At    time.Time // when it was recorded, on the database's clock, in UTC to the millisecond
	Fence int64     // of the lease under which it was recorded
}

// String is for people and logs: family and member are masked.
func (r Record) String() string {
	return fmt.Sprintf("%s at %s", r.Claim, r.At.Format(timeFormat))
}

// GoString is String, so that %#v shows no more.
func (r Record) GoString() string { return r.String() }

// MarshalLogObject writes the record to a zap log, with a masked family and member.
func (r Record) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	if err := r.Claim.MarshalLogObject(enc); err != nil {
		return err
	}
	enc.AddString("at", r.At.Format(timeFormat))
	enc.AddInt64("fence", r.Fence)
	return nil
}

const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// A TakenError is the answer that the family has the reward already. Its text
// masks family and member; its fields are for the program that asked. Match it
// with errors.AsType[*TakenError].
type TakenError struct {
	Family string
	Reward string
	Member string    // who has it
	At     time.Time // since when, on the database's clock
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("reward: family %q has reward %q since %s, through member %q",
		Mask(e.Family), e.Reward, e.At.Format(timeFormat), Mask(e.Member))
}

// GoString is Error, so that %#v shows no more.
func (e *TakenError) GoString() string { return e.Error() }
