package sms_test

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/jobs/sms"
)

// Whatever the file, reading ends, lines grow, a row is good or says why, what is
// good is valid, and a second reading gives the same.
func FuzzRows(f *testing.F) {
	f.Add("id,to,text,at\na,+12025550101,Hello,\n")
	f.Add("to,text\n+12025550101,\"a \"\"quote\"\"\nand a line\"\n\n+12025550101,b")
	f.Add("text;to\n")
	if bad, err := os.ReadFile("testdata/bad.csv"); err == nil {
		f.Add(string(bad))
	}
	f.Fuzz(func(t *testing.T, file string) {
		rows, err := sms.AllRows(strings.NewReader(file), time.UTC)
		if err == nil {
			t.Fatal("no end")
		}
		again, _ := sms.AllRows(strings.NewReader(file), time.UTC)
		last := 1
		for i, r := range rows {
			if r.Line <= last {
				t.Errorf("line %d after line %d", r.Line, last)
			}
			last = r.Line
			if fault := r.Message.Validate(); r.Err == nil && fault != nil {
				t.Errorf("line %d was taken for good: %v", r.Line, fault)
			}
			if again[i].Message != r.Message {
				t.Errorf("line %d is %v, then %v", r.Line, r.Message, again[i].Message)
			}
		}
	})
}

// A valid number is exactly what E.164 allows, and a mask never shows its middle.
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

// What is read as a time is read the same from its RFC 3339 form, and is in the
// years that are allowed.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"", "2026-03-01T09:30:00+01:00", "2026-03-01 09:30:00", "2026-02-30 09:30:00", "9999-12-31T23:59:59-23:59"} {
		f.Add(s)
	}
	zone := time.FixedZone("", 8*3600)
	f.Fuzz(func(t *testing.T, s string) {
		at, err := sms.ParseTime(s, zone)
		if err != nil || s == "" {
			return
		}
		again, err := sms.ParseTime(at.UTC().Format(time.RFC3339Nano), time.UTC)
		if err != nil || !again.Equal(at) || at.UTC().Year() < 1970 || at.UTC().Year() > 9999 {
			t.Errorf("%q is %v, again %v, %v", s, at, again, err)
		}
	})
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
