package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"text/tabwriter"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/scheduler/verify"
)

// What a terminal would obey is shown, and cannot end a line or a column.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"job-1, 5 µs, 東京, \\ \"x\" 'y'": "job-1, 5 µs, 東京, \\ \"x\" 'y'",
		"\x1b[2J\x1b]0;x\a":             `\x1b[2J\x1b]0;x\a`,
		"a\nb\tc\rd\x00":                `a\nb\tc\rd\x00`,
		"\u202ecod.exe\u2066":           `\u202ecod.exe\u2066`,
		"\u009b31m\x7f\u2028\u00a0":     `\u009b31m\x7f\u2028\u00a0`,
		"\xff\xc3(\ufffd":               `\xff\xc3(\ufffd`,
		"\U000e0041\u200b":              `\U000e0041\u200b`,
		"":                              "",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := printableText("a\nb\x1b\n"); got != "a\nb\\x1b\n" {
		t.Errorf("%q", got)
	}
}

// Nothing that a terminal could obey is left, and what is printable is not changed.
func FuzzPrintable(f *testing.F) {
	f.Add("\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := printable(s)
		if strings.ContainsFunc(got, unprintable) || !utf8.ValidString(got) || printable(got) != got {
			t.Errorf("%q becomes %q", s, got)
		}
		var b bytes.Buffer
		if err := printJSON(&b, s); err != nil {
			t.Fatal(err)
		}
		var back string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Errorf("%q comes back as %q, %v", s, back, err)
		}
		if strings.ContainsFunc(b.String(), notInJSON) {
			t.Errorf("%q is written as %q", s, b.String())
		}
	})
}

// forged is what an attacker with the keys of the store would write.
const forged = "n\x1b]0;owned\a\u202e\u009b2J\nOK 9 ticks\tin order\xff"

// clean fails if an output has what the attacker wrote in a form that acts.
func clean(t *testing.T, what, out string) {
	t.Helper()
	if !strings.Contains(out, "owned") {
		t.Errorf("%s does not show the text: %q", what, out)
	}
	if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && unprintable(r) }) || strings.Contains(out, "\nOK 9") {
		t.Errorf("%s: %q", what, out)
	}
}

// Every place that shows what others wrote shows it escaped.
func TestForgedTexts(t *testing.T) {
	var b bytes.Buffer
	show := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		clean(t, what, b.String())
		b.Reset()
	}
	reports := []verify.Report{{Job: forged, Missed: map[string]int{forged: 1}, Violations: []verify.Violation{{Invariant: "I1", Text: forged}}}}
	p := &proof{Summary: verify.Sum(reports...), Remarks: []string{forged}}
	show("verify", printProof(&b, p))
	show("verify -o json", printJSON(&b, p))
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	printRow(table, forged, lock.Verdict(forged))
	show("a row", table.Flush())
	log := newLogger(logConfig{Level: "info", Format: "json"}, &b)
	log.Info("run finished", zap.String("err", forged))
	show("the log for machines", nil)
	newLogger(logConfig{Level: "info", Format: "console"}, &b).Info("run finished", zap.String("err", forged))
	show("the log for people", nil)
	// The command line is refused with what it was given.
	if code := run(t.Context(), []string{"verify", forged}, nil, &b, &b); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	show("an error", nil)
}
