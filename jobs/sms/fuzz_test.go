package sms_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cronce/cronce/jobs/sms"
)

// Exactly the numbers of E.164 are valid, and a mask never shows the middle of a number.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"+12025550123", "+8613812345678", "12025550123", "+1 202", "", "+0123456789", "éééééééééééé"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, number string) {
		valid := sms.Message{ID: "a", To: number, Text: "x"}.Validate() == nil
		if valid != plain(number) {
			t.Errorf("%q valid %v", number, valid)
		}
		mask := sms.Mask(number)
		if shown := utf8.RuneCountInString(strings.Replace(mask, "****", "", 1)); shown > max(0, utf8.RuneCountInString(number)-4) || shown > 10 {
			t.Errorf("Mask(%q) = %q shows %d characters", number, mask, shown)
		}
		if valid && strings.Contains(sms.Clean("to "+number+".", number), number) {
			t.Errorf("clean shows %q", number)
		}
	})
}

// plain says the rule for numbers in another way than the code under test.
func plain(number string) bool {
	digits, plus := strings.CutPrefix(number, "+")
	return plus && len(digits) >= 8 && len(digits) <= 15 && digits[0] != '0' && strings.Trim(digits, "0123456789") == ""
}

func FuzzStatus(f *testing.F) {
	f.Add("queued 0 0 0 0 1795207852937 1795207852937 - ")
	f.Add("failed 2 1 0 1795207852937400 1795207852937 1795207852937 cronce/sendSms@1 given up: a b")
	f.Add("taken 1 1")
	f.Fuzz(func(t *testing.T, line string) {
		r, err := sms.ParsedStatus(line)
		if err == nil && (!strings.HasPrefix(line, string(r.State)+" ") || !strings.HasSuffix(line, " "+r.Reason)) {
			t.Errorf("%q is %+v", line, r)
		}
	})
}
