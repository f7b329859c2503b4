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
