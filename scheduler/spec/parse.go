package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Bounds of the length in bytes, of the fields and of the whole text with zone and limits.
const (
	maxFields = 256
	maxText   = 2048
)

func tooLong(bytes, most int) string {
	return fmt.Sprintf("%d bytes long; at most %d are allowed", bytes, most)
}

// descriptors maps each descriptor to its fields, so that all specs are parsed in one way.
var descriptors = map[string]string{
	"@yearly":   "0 0 0 1 1 *",
	"@annually": "0 0 0 1 1 *",
	"@monthly":  "0 0 0 1 * *",
	"@weekly":   "0 0 0 * * 0",
	"@daily":    "0 0 0 * * *",
	"@midnight": "0 0 0 * * *",
	"@hourly":   "0 0 * * * *",
}

// checkText refuses characters that no spec contains, before any further parsing.
func checkText(text string) *Error {
	if text == "" {
		return &Error{Reason: "empty; " + shapes}
	}
	if len(text) > maxText {
		return &Error{Reason: tooLong(len(text), maxText)}
	}
	i := strings.IndexFunc(text, foreign)
	if i < 0 {
		return nil
	}
	before, character := strings.ToUpper(text[:i]), []rune(text[i:])[0]
	switch {
	case character == '~':
		return &Error{Reason: "~ (a random value) is not supported, since a spec names the same instants everywhere: write H in the spec of a job"}
	case character == '(' && strings.HasSuffix(before, "H"):
		return &Error{Reason: "H " + perJob}
	}
	return &Error{Reason: fmt.Sprintf("character %q at byte %d; "+
		"must be ASCII letters, digits, space, tab and * ? , - / : @ = _ + . #", character, i)}
}

func foreign(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune(" \t*?,-/:@=_+.#", r)
}

const shapes = "must have 5 fields (minute, hour, day of month, month, day of week), " +
	"6 with seconds first, 7 with the year last, @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every with a duration, and @at with an instant"

// parseEvery reads the words after "@every".
func (s *Schedule) parseEvery(words []string, zoned, limited bool) *Error {
	value := strings.Join(words, " ")
	fault := func(reason string) *Error {
		return &Error{Field: "@every", Value: value, Reason: reason}
	}
	d, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return fault("not a duration; must be whole seconds from 1s, such as 90s, 5m or 1h30m")
	case d < time.Second || d%time.Second != 0:
		return fault("must be whole seconds from 1s")
	case zoned && !limited && s.zone != time.UTC:
		return fault("counts from 1970-01-01 00:00 UTC and has no zone; drop the zone or use fields")
	}
	s.every = int64(d / time.Second)
	if s.zone != time.UTC && !limited {
		s.remarks = append(s.remarks,
			"@every counts from 1970-01-01 00:00 UTC; zone "+s.zone.String()+" has no effect on it")
	}
	return nil
}

// parseFields reads a descriptor or five to seven fields.
func (s *Schedule) parseFields(given []string) *Error {
	words, fault := allFields(given)
	if fault != nil {
		return fault
	}
	r := &rare{}
	plain := make([]string, len(words))
	for i, word := range words {
		if plain[i], fault = fields[i].normalise(word, r); fault != nil {
			return fault
		}
	}
	if len(words) > year {
		r.takeYears(plain[year])
	}
	parsed, err := parseSets(plain)
	if err != nil {
		return &Error{Reason: err.Error()}
	}
	s.sets = newSets(parsed, plain, r)
	if _, ok := s.sets.next(0); !ok {
		return never(words)
	}
	s.sets.fixed = !strings.ContainsAny(words[second]+words[minute]+words[hour], "*?-/")
	s.remarks = fieldRemarks(words, len(given), s.sets.eitherDay)
	return nil
}

// never returns the error for fields that match no day.
func never(words []string) *Error {
	in := fmt.Sprintf("month %q", words[month])
	if len(words) > year {
		in += fmt.Sprintf(" of year %q", words[year])
	}
	at := dayOfMonth
	if strings.Trim(words[dayOfMonth], "*?") == "" {
		at = dayOfWeek
	}
	return &Error{Field: fields[at].name, Value: words[at], Reason: "never fires: no such day in " + in}
}

// allFields returns six fields, or seven if there is a year.
func allFields(words []string) ([]string, *Error) {
	if strings.HasPrefix(words[0], "@") {
		text, ok := descriptors[words[0]]
		if !ok || len(words) > 1 {
			return nil, &Error{Field: "descriptor", Value: strings.Join(words, " "), Reason: shapes}
		}
		return strings.Fields(text), nil
	}
	switch len(words) {
	case 5:
		return append([]string{"0"}, words...), nil
	case 6, 7:
		return words, nil
	}
	if len(words) == 1 {
		return nil, &Error{Reason: "1 field; " + shapes}
	}
	return nil, &Error{Reason: fmt.Sprintf("%d fields; %s", len(words), shapes)}
}

var parser = cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// parseSets passes checked fields to robfig's parser. That parser panics on some input that the
// checks refuse. parseSets recovers all the same, in case a check is missing.
func parseSets(plain []string) (parsed *cron.SpecSchedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot be parsed: %v", r)
		}
	}()
	six := slices.Clone(plain[:year])
	for _, day := range []int{dayOfMonth, dayOfWeek} {
		six[day] = cmp.Or(six[day], "1") // a placeholder, which newSets removes
	}
	schedule, err := parser.Parse(strings.Join(six, " "))
	if err != nil {
		return nil, err
	}
	return schedule.(*cron.SpecSchedule), nil
}
