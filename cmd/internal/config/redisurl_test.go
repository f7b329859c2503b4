package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs/sms"
)

func TestParseRedisURL(t *testing.T) {
	for raw, want := range map[string]string{
		"redis://h":            "redis://h:6379",
		"redis://h:1/":         "redis://h:1",
		"rediss://u@h:1/3":     "rediss://h:1/3",
		"redis://u:p@h":        "redis://h:6379",
		"redis://:p@h":         "redis://h:6379",
		"redis://secret@h":     "redis://h:6379",
		"redis://[::1]:7":      "redis://[::1]:7",
		"redis://[::1]":        "redis://[::1]:6379",
		"redis://u:p@h/x":      "has a path that is no number of a database, must be",
		"redis://h/-1":         "has a path that is no number of a database, must be",
		"redis://u:p@h?db=1":   "has parameters or a fragment, must be",
		"redis://h#a":          "has parameters or a fragment, must be",
		"http://h":             "is no URL of a Redis, must be redis://",
		"redis://u:1234/x@h":   "has an @ behind its host: in a password write %2F",
		"redis://":             "is no URL of a Redis",
		"":                     "is no URL of a Redis",
		"h:6379":               "is no URL of a Redis",
		"redis://:6379":        "is no URL of a Redis",
		"redis://u:p%zz@h":     "is no URL of a Redis",
		"redis://u:p w@h":      "is no URL of a Redis",
		"redis://h:port":       "is no URL of a Redis",
		"redis://h:":           "redis://h:6379",
		"redis://h:65535":      "redis://h:65535",
		"redis://h:65536":      "has a port that is not 1 to 65535, must be redis://",
		"redis://u:secret:1":   "has a port that is not 1 to 65535, must be redis://",
		"redis://secret:0":     "has a port that is not 1 to 65535, must be redis://",
		"redis://h/2147483646": "redis://h:6379/2147483646",
		"redis://h/2147483647": "has a path that is no number of a database, must be",
		"redis://u:secret@:x":  "is no URL of a Redis",
	} {
		e, err := parseRedisURL(raw)
		got := e.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || strings.Contains(got, "p%zz") || strings.Contains(got, "secret") {
			t.Errorf("%q: %s, want %s", raw, got, want)
		}
	}
}

// slips are URLs whose password contains characters that end a host: no part of them is shown,
// whichever parser gets them.
var slips = []string{
	"redis://:1234/s3cr3tTAIL@h", "redis://user:p@ss3cr3t/word@h", "redis://user:1234/s3cr3t@h:1/0", "redis://s3cr3t/s3cr3t:s3cr3t@h",
	"redis://user:12#s3cr3t@h", "redis://user:12?s3cr3t@h", "redis://user:s3cr3t@s3cr3t?s3cr3t#s3cr3t@h", "redis://s3cr3t:x@h",
}

func TestSlipsAreRefused(t *testing.T) {
	for _, raw := range slips {
		readers := map[string]func(string) error{
			"redis":    func(s string) error { _, err := parseRedisURL(s); return err },
			"database": func(s string) error { _, err := ParseDSN(s + "/db"); return err },
			"gateway":  func(s string) error { _, err := sms.NewHTTP(sms.HTTPConfig{URL: s}); return err },
		}
		for reader, read := range readers {
			for _, scheme := range []string{"redis", "rediss", "postgres", "mysql", "http", "https", "ftp"} {
				_, rest, _ := strings.Cut(raw, "://")
				if err := read(scheme + "://" + rest); err != nil && (strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "12")) {
					t.Errorf("%s: %s: %v", reader, raw, err)
				} else if err == nil && strings.ContainsAny(rest, "/?#") {
					t.Errorf("%s takes %s://%s", reader, scheme, rest)
				}
			}
		}
	}
}

// No error has any part of the URL, and its password is not shown.
func FuzzRedisURL(f *testing.F) {
	f.Add("redis://u:", "@h:1/2")
	f.Add("rediss://", "%zz@[::1]:x?a=b#c")
	f.Add("redis://u:1/", "/3@h")
	f.Add("redis://u:p@", "?x@h")
	f.Fuzz(func(t *testing.T, before, after string) {
		const password = "hunter2hunter2"
		if strings.Contains(before+after, "hunter") {
			return
		}
		e, err := parseRedisURL(before + password + "@" + after)
		if err != nil && strings.Contains(err.Error(), password) || strings.Contains(e.String(), password) {
			t.Errorf("%v %v", e, err)
		}
	})
}

// A secret prints as ***, however it is printed and wherever it is kept.
func TestSecret(t *testing.T) {
	s := struct {
		inside Secret
		Shown  Secret
	}{newSecret("hunter2"), newSecret("hunter2")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		if shown := fmt.Sprintf(verb, s) + fmt.Sprintf(verb, s.inside) + fmt.Sprintf(verb, &s); strings.Contains(shown, "hunter2") || strings.Contains(shown, "68756e746572") {
			t.Errorf("%s shows %s", verb, shown)
		}
	}
	if s.inside.Text() != "hunter2" || (Secret{}).Text() != "" || s.Shown.String() != "***" {
		t.Error("a secret lost its text")
	}
}
