package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseRedisURL(t *testing.T) {
	for raw, want := range map[string]string{
		"redis://h":           "redis://h:6379",
		"redis://h:1/":        "redis://h:1",
		"rediss://u@h:1/3":    "rediss://u@h:1/3",
		"redis://u:p@h":       "redis://u:***@h:6379",
		"redis://:p@h":        "redis://:***@h:6379",
		"redis://[::1]:7":     "redis://[::1]:7",
		"redis://[::1]":       "redis://[::1]:6379",
		"redis://u:p@h/x":     `is "redis://u:***@h/x", allowed is`,
		"redis://h/-1":        `is "redis://h/-1", allowed is`,
		"redis://u:p@h?db=1":  `is "redis://u:***@h" with parameters`,
		"http://h":            "is no URL of a Redis, allowed is redis://",
		"redis://":            "is no URL of a Redis",
		"":                    "is no URL of a Redis",
		"h:6379":              "is no URL of a Redis",
		"redis://u:p%zz@h":    "is no URL of a Redis",
		"redis://u:p w@h":     "is no URL of a Redis",
		"redis://h:port":      "is no URL of a Redis",
		"redis://u:secret@:x": "is no URL of a Redis",
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

// Whatever the rest of the URL is, its password is not shown.
func FuzzRedisURL(f *testing.F) {
	f.Add("redis://u:", "@h:1/2")
	f.Add("rediss://", "%zz@[::1]:x?a=b#c")
	f.Fuzz(func(t *testing.T, before, after string) {
		const password = "hunter2hunter2"
		if strings.Contains(before, "hunter") || strings.Contains(after, "hunter") || !strings.HasSuffix(before, ":") || strings.ContainsAny(before, "/?#@[") && !strings.HasPrefix(before, "redis://") {
			return // the password would not be where one is
		}
		e, err := parseRedisURL(before + password + "@" + after)
		if err == nil && e.password.text() != password {
			return // it is not taken for a password
		}
		if shown := fmt.Sprint(e, err); strings.Contains(shown, password) && e.hasPassword() {
			t.Errorf("%s", shown)
		}
	})
}

// A secret prints as ***, however it is printed and wherever it is kept.
func TestSecret(t *testing.T) {
	s := struct {
		inside secret
		Shown  secret
	}{newSecret("hunter2"), newSecret("hunter2")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		if shown := fmt.Sprintf(verb, s) + fmt.Sprintf(verb, s.inside) + fmt.Sprintf(verb, &s); strings.Contains(shown, "hunter2") || strings.Contains(shown, "68756e746572") {
			t.Errorf("%s shows %s", verb, shown)
		}
	}
	if s.inside.text() != "hunter2" || (secret{}).text() != "" || s.Shown.String() != "***" {
		t.Error("a secret lost its text")
	}
}
