package sms_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/jobs/sms"
)

func TestMask(t *testing.T) {
	for number, want := range map[string]string{
		"+8613812345678":   "+86138****5678",
		"+12025550123":     "+120****0123",
		"+447700900123":    "+4477****0123",
		"+123456789012345": "+12345****2345",
		"+12345678":        "+****5678",
		"+1234567":         "****",
		"":                 "****",
		"éééééééééé":       "éé****éééé",
	} {
		if got := sms.Mask(number); got != want {
			t.Errorf("Mask(%q) = %q, want %q", number, got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	const ok = "+12025550123"
	for _, c := range []struct {
		id, to, text, want string // want is "" for a valid message
	}{
		{"a", ok, "x", ""},
		{"A.b_c-9", "+12345678", "x", ""},
		{strings.Repeat("a", 64), "+123456789012345", strings.Repeat("é", 1000), ""},
		{"a", ok, "Line\nbreaks, emoji 👩\u200d👩\u200d👧 ⛈\ufe0f, می\u200cخواهم, שלום\u200f", ""},
		{"", ok, "x", `id is ""`},
		{strings.Repeat("a", 65), ok, "x", "id is "},
		{"a b", ok, "x", `id is "a b"`},
		{"é", ok, "x", `id is "é"`},
		{"a\n", ok, "x", `id is "a\n"`},
		{"a", "", "x", `to is ""`},
		{"a", "12025550123", "x", `to is "120****0123"`},
		{"a", "+1234567", "x", `to is "****"`},
		{"a", "+1234567890123456", "x", `to is "+12345****3456"`},
		{"a", "+02025550123", "x", `to is "+020****0123"`},
		{"a", "+1202555o123", "x", `to is "+120****o123"`},
		{"a", "+1 202 555 0123", "x", `to is "+1 202****0123"`},
		{"a", "+１２０２５５５０１２３", "x", "to is "},
		{"a", ok + "\n", "x", "to is "},
		{"a", ok, "", "text is empty"},
		{"a", ok, " \n ", "text is blank"},
		{"a", ok, strings.Repeat("é", 1001), "text is 1001 characters long"},
		{"a", ok, "\xff", "text is not UTF-8"},
		{"a", ok, "ab\tc", "text is unprintable at character 3 (U+0009)"},
		{"a", ok, "a\x1b[31m", "text is unprintable at character 2 (U+001B)"},
		{"a", ok, "a\r\n", "text is unprintable at character 2 (U+000D)"},
	} {
		err := sms.Message{ID: c.id, To: c.to, Text: c.text}.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q %q %q: %v, want it valid", c.id, c.to, c.text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q %q %.20q: %v, want %q", c.id, c.to, c.text, err, c.want)
		}
	}
}

// A caller whose message has an instant out of the years that are allowed gets the name of that field, and of no other one.
func TestValidateTime(t *testing.T) {
	for field, set := range map[string]func(m *sms.Message, at time.Time){
		"at":    func(m *sms.Message, at time.Time) { m.At = at },
		"until": func(m *sms.Message, at time.Time) { m.Until = at },
	} {
		for year, ok := range map[int]bool{1969: false, 1970: true, 9999: true, 10000: false} {
			m, want := sms.Message{ID: "a", To: "+12025550123", Text: "x"}, "<nil>"
			set(&m, time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC))
			if !ok {
				want = fmt.Sprintf("%s is %d-06-01T00:00:00Z, must be a year from 1970 to 9999", field, year)
			}
			if err := fmt.Sprint(m.Validate()); err != want {
				t.Errorf("%s in the year %d: %s, want %s", field, year, err, want)
			}
		}
	}
}

// A message expires a millisecond or more after it is due. At the beginning of 1970, which the store keeps as
// no instant, it does not become one that never expires.
func TestValidateUntil(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		at, until time.Time
		ok        bool
	}{
		{at, at.Add(time.Millisecond), true}, {at, at.Add(time.Millisecond - 1), false}, {at, at, false}, {at, at.Add(-time.Hour), false},
		{time.Time{}, time.UnixMilli(1), true}, {time.Time{}, time.UnixMilli(0), false}, {time.UnixMilli(0), time.UnixMilli(1), true},
	} {
		if err := (sms.Message{ID: "a", To: "+12025550123", Text: "x", At: c.at, Until: c.until}).Validate(); (err == nil) != c.ok {
			t.Errorf("due %v, until %v: %v, want it valid: %v", c.at, c.until, err, c.ok)
		}
	}
}

func TestMessagesPrintMasked(t *testing.T) {
	m := sms.Message{ID: "code-1", To: "+8613812345678", Text: "123456", At: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)}
	const want = `message "code-1" to "+86138****5678", 6 characters, due at 2026-03-01T09:30:00Z`
	if got := m.String(); got != want {
		t.Errorf("String = %s, want %s", got, want)
	}
	r := sms.Record{Message: m, State: sms.Queued}
	var lines strings.Builder
	zapped := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&lines), zap.InfoLevel)
	for _, h := range []slog.Handler{slog.NewJSONHandler(&lines, nil), slog.NewTextHandler(&lines, nil), zapslog.NewHandler(zapped)} {
		slog.New(h).Info("x", "b", m, "c", r)
	}
	zap.New(zapped).Info("x", zap.Any("b", m), zap.Any("c", r))
	if strings.Count(lines.String(), "+86138****5678") != 8 {
		t.Errorf("logged %s, want the masked recipient eight times", &lines)
	}
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %s", m, m, m, m), fmt.Sprintf("%v %+v %#v %s", r, r, r, r),
		fmt.Sprint([]sms.Message{m}), lines.String()} {
		if strings.Contains(s, "3812345678") || strings.Contains(s, "123456,") || strings.Contains(s, `"123456"`) {
			t.Errorf("shows the recipient or the text: %s", s)
		}
	}
}

func TestCleanReasons(t *testing.T) {
	for in, want := range map[string]string{
		"ok":                               "ok",
		"bad +8613812345678\r\nline":       "bad +86138****5678  line",
		"tel:8613812345678, 8613812345678": "tel:86138****5678, 86138****5678",
		"\x1b[31m\xff":                     " [31m ",
		strings.Repeat("é", 150):           strings.Repeat("é", 100),
		"\xff" + strings.Repeat("é", 150):  " " + strings.Repeat("é", 99),
	} {
		if got := sms.Clean(in, "+8613812345678"); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}
