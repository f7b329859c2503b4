package redact_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/redact"
)

func TestText(t *testing.T) {
	s := redact.New("hunter22", "short", "hunter22hunter", "-----BEGIN KEY-----\nMIIEvQ\n", "hunter22")
	for _, c := range []struct {
		text, want string
		n          int
	}{
		{"one\r\ntwo", "one\ntwo", 100},
		{"password=hunter22, again hunter22\n", "password=[masked], again [masked]\n", 100},
		{"hunter22hunter", "[masked]", 100},
		{"short", "short", 100},
		{"-----BEGIN KEY-----\nMIIEvQ", "[masked]\n[masked]", 100},
		{"xhunter22", "x[ma", 4},
		{"a\x1b[31m\x00\xffb\tc", "a\uFFFD[31m\uFFFD\uFFFDb\tc", 100},
		{"äöü", "ä", 3},
		{"äöü", "", 1},
	} {
		if got := s.Text(c.text, c.n); got != c.want {
			t.Errorf("%q = %q, want %q", c.text, got, c.want)
		}
	}
}

// The masks in a text that was cut may be so short that the end of the text is shown. It contains
// no part of a secret.
func TestTextThatWasCut(t *testing.T) {
	s := redact.New("01234567890123", "0123x567")
	for text, want := range map[string]string{
		"and 01234567890123":        "and [masked]", // the text ends like it begins
		"01234567890123 and 012345": "[masked] and ",
		"and 0123x56":               "and ",
		"and 0123x5678":             "and [masked]8",
		"":                          "",
	} {
		if got := s.Begin(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	secret := strings.Repeat("0123456789", 7)
	all, s := strings.Repeat(secret+",", 100), redact.New(secret)
	if got := s.Text(all[:1000+redact.MaxSecret], 1000); strings.Contains(got, "0") || !strings.HasPrefix(got, "[masked],[masked],") {
		t.Errorf("a text that was cut is %q", got)
	}
	if got := s.Text(all[:99], 1000); got != "[masked],"+secret[:28] {
		t.Errorf("a text that was not cut is %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\nhunter22", "hunter22", 5)
	f.Fuzz(func(t *testing.T, text, secret string, n int) {
		n = max(0, n%100)
		got := redact.New(secret).Text(text, n)
		if !utf8.ValidString(got) || len(got) > n || strings.ContainsAny(got, "\x00\x1b") {
			t.Errorf("%q", got)
		}
	})
}
