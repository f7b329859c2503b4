package sms

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/plaintext"
)

// MaxText bounds the characters of a text.
const MaxText = 1000

// A Message is a text for one recipient. Printed, also as part of a log line, it
// shows a masked recipient and no text.
type Message struct {
	// ID is the message's identity and its idempotency key: [A-Za-z0-9._-]{1,64}.
	ID string
	// To is the recipient in E.164 form: + and 8 to 15 digits without separators.
	To string
	// Text has 1 to MaxText printable characters; line breaks are allowed.
	Text string
	// At is when the message is due, to the millisecond. Zero, or in the past: at once.
	At time.Time
	// Until is when the message expires, to the millisecond: no request begins for it from then on,
	// and it ends as Expired. It must be later than At. Zero: it never expires.
	Until time.Time
	// Person identifies the person that the message is for, so that Forget finds it:
	// [A-Za-z0-9._-]{1,64}. Empty: Forget finds it by its number alone.
	Person string
}

// A FieldError names the field or option that was refused.
type FieldError struct {
	Field   string // its name
	Value   string // the given value: quoted, cut, and masked if it is a recipient
	Allowed string // the allowed values
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %s, must be %s", e.Field, e.Value, e.Allowed)
}

var (
	idPattern     = regexp.MustCompile(`\A[A-Za-z0-9._-]{1,64}\z`)
	numberPattern = regexp.MustCompile(`\A\+[1-9][0-9]{7,14}\z`)
)

// Validate returns nil, or a *FieldError for each field that is not allowed,
// joined.
func (m Message) Validate() error {
	return errors.Join(m.faults()...)
}

func (m Message) faults() []error {
	var faults []error
	refuse := func(field, value, allowed string) {
		faults = append(faults, &FieldError{field, value, allowed})
	}
	if !idPattern.MatchString(m.ID) {
		refuse("id", quote(m.ID), "1 to 64 of A-Z a-z 0-9 . _ -")
	}
	if !numberPattern.MatchString(m.To) {
		refuse("to", quoteNumber(m.To), "+ and 8 to 15 digits, the first not 0")
	}
	if fault := plaintext.Fault(m.Text, MaxText, true); fault != "" {
		refuse("text", fault, fmt.Sprintf("1 to %d printable characters", MaxText))
	}
	for _, f := range []struct {
		field string
		at    time.Time
	}{{"at", m.At}, {"until", m.Until}} {
		if y := f.at.UTC().Year(); !f.at.IsZero() && (y < minYear || y > maxYear) {
			refuse(f.field, f.at.UTC().Format(time.RFC3339), yearsAllowed)
		}
	}
	if ms := m.Until.UnixMilli(); !m.Until.IsZero() && (ms <= m.At.UnixMilli() || ms == 0) { // 0 is stored for none
		refuse("until", m.Until.UTC().Format(time.RFC3339), "an instant after at")
	}
	if m.Person != "" && !idPattern.MatchString(m.Person) {
		refuse("person", strconv.Quote(Mask(m.Person)), "1 to 64 of A-Z a-z 0-9 . _ -")
	}
	return faults
}

// String returns a line for logs: the recipient is masked, the text left out.
func (m Message) String() string {
	due := "at once"
	if !m.At.IsZero() {
		due = "at " + m.At.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("message %s to %s, %d characters, due %s",
		quote(m.ID), quoteNumber(m.To), utf8.RuneCountInString(m.Text), due)
}

// GoString returns the same as String, so that %#v shows no recipient either.
func (m Message) GoString() string { return m.String() }

// LogValue returns the message for a log, with a masked recipient and without its text.
func (m Message) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", m.ID), slog.String("to", Mask(m.To)), slog.Int("characters", utf8.RuneCountInString(m.Text)))
}

// quote quotes s and cuts it, so that input cannot flood an error.
func quote(s string) string {
	const most = 64
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
}

func quoteNumber(s string) string {
	if s == "" {
		return `""`
	}
	return quote(Mask(s))
}

// The parts of a number that Mask may show.
const (
	maskHead   = 6
	maskTail   = 4
	maskHidden = 4 // least number of hidden characters
)

// Mask hides the middle of a phone number: +8613812345678 becomes +86138****5678.
// At least four characters are hidden; of eight or fewer none is shown. The
// number need not be valid.
func Mask(number string) string {
	runes := []rune(number)
	head := min(maskHead, len(runes)-maskTail-maskHidden)
	if head <= 0 {
		return "****"
	}
	return string(runes[:head]) + "****" + string(runes[len(runes)-maskTail:])
}

const (
	minYear      = 1970
	maxYear      = 9999
	yearsAllowed = "a year from 1970 to 9999"
)
