package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// A control sequence is shown, and cannot end a line or a column.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"job-1, 5 µs, 東京, \\ \"x\" 'y'": "job-1, 5 µs, 東京, \\ \"x\" 'y'",
		"\x1b[2J\x1b]0;x\a":             `\x1b[2J\x1b]0;x\a`,
		"a\nb\tc\rd\x00":                `a\nb\tc\rd\x00`,
		"\u202ecod.exe\u2066":           `\u202ecod.exe\u2066`,
		"\u009b31m\x7f\u2028\u00a0":     `\u009b31m\x7f\u2028\u00a0`,
		"\xff\xc3(\ufffd":               `\xff\xc3(\ufffd`,
		"\U000e0041\u200b":              `\U000e0041\u200b`,
		"5 µs, 東京\x1b":                  `5 µs, 東京\x1b`,
		"":                              "",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := PrintableText("a\nb\x1b\n"); got != "a\nb\\x1b\n" {
		t.Errorf("%q", got)
	}
}

// No sequence that a terminal could interpret is left, and printable text is not changed.
func FuzzPrintable(f *testing.F) {
	f.Add("\x1b[31m\u202e\xff")
	f.Add("\x1b[31m\u202e\t\n")
	f.Add("\U000e0041\uffff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Printable(s)
		if strings.ContainsFunc(got, unprintable) || !utf8.ValidString(got) || Printable(got) != got {
			t.Errorf("%q becomes %q", s, got)
		}
		var b bytes.Buffer
		if err := PrintJSON(&b, s); err != nil {
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
