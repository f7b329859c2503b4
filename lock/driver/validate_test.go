package driver_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// argument is the name in an ArgumentError, or "" if err is nil.
func argument(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	bad, ok := errors.AsType[*driver.ArgumentError](err)
	if !ok {
		t.Fatalf("the error is %T %v, want an *driver.ArgumentError", err, err)
	}
	if bad.Argument == "" || bad.Value == "" || bad.Allowed == "" {
		t.Fatalf("the error is %+v, want all three said", bad)
	}
	return bad.Argument
}

func TestCheckKey(t *testing.T) {
	for _, key := range []string{"a", " ", "a b", "stock:{42}", "é", "键", "👩\u200d🔧", "✈\ufe0f", "a|b;c", strings.Repeat("x", driver.MaxKey), strings.Repeat("é", 100)} {
		if err := driver.CheckKey(key); err != nil {
			t.Errorf("%q is refused: %v", key, err)
		}
	}
	for _, key := range []string{"", "\n", "a\tb", "a\x00", "a\x7f", "\xff", "a\xc3", "\u200b", "\u202e", "\ufeff", "\u00a0", strings.Repeat("x", driver.MaxKey+1), strings.Repeat("é", 101)} {
		if argument(t, driver.CheckKey(key)) != "key" {
			t.Errorf("%q is allowed", key)
		}
	}
}

func TestCheckTTL(t *testing.T) {
	for ttl, want := range map[time.Duration]string{
		driver.MinTTL: "", driver.MaxTTL: "", time.Minute: "",
		driver.MinTTL - 1: "TTL", driver.MaxTTL + 1: "TTL", 0: "TTL", -time.Minute: "TTL",
	} {
		if got := argument(t, driver.CheckTTL(ttl)); got != want {
			t.Errorf("%v: the error names %q, want %q", ttl, got, want)
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "node-1/3f", "a b", "é", strings.Repeat("x", driver.MaxKey)} {
		if err := driver.CheckName("node", name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for _, name := range []string{"", "a|b", "a;b", "|", "é|", "a\n", "\xff", strings.Repeat("x", driver.MaxKey+1)} {
		if argument(t, driver.CheckName("node", name)) != "node" {
			t.Errorf("%q is allowed", name)
		}
	}
}

// Claims of all forms that a scheduler sends are allowed. The contract of the stores tests the
// refused ones.
func TestCheckClaim(t *testing.T) {
	good := series.Claim{Key: "job", Owner: "n/1", Number: 1, TTL: driver.MinTTL, Attempts: 1}
	full := series.Claim{Key: "job", Owner: "n/1", Number: driver.MaxNumber, After: driver.MaxNumber - 1, Between: 1e9, From: driver.MaxNumber,
		TTL: driver.MaxTTL, Deadline: 1e18, Late: series.ReasonMisfire, Attempts: 1e9, Rerun: true, Window: 1e18, Overlap: series.OverlapReplace,
		Backlog: true, Latest: driver.MaxNumber, Fence: driver.MaxNumber, Revision: "3f2a9c"}
	for _, c := range []series.Claim{good, full} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if got := argument(t, (&series.Claim{}).Check()); got != "key" {
		t.Errorf("of an empty claim the error names %q, want the first argument", got)
	}
}

func TestCheckRequests(t *testing.T) {
	ref := series.RunRef{Key: "job", Number: 1, Owner: "n/1", Fence: 1}
	renewal := ref
	renewal.TTL = driver.MinTTL
	for what, err := range map[string]error{
		"acquisition": driver.CheckAcquisition(&driver.Acquisition{Key: "k", Owner: "n/1", TTL: driver.MinTTL}),
		"holding":     driver.CheckRenewal(&driver.LeaseRef{Key: "k", Owner: "n/1", Fence: 1, TTL: driver.MinTTL}),
		"release":     driver.CheckRelease(&driver.LeaseRef{Key: "k", Owner: "n/1"}),
		"opening":     (&series.OpenRequest{Key: "k", Node: "n"}).Check(),
		"run":         renewal.Check(),
		"ending":      (&series.EndRequest{RunRef: ref}).Check(),
		"change":      (&series.Control{Key: "k", Action: series.ActionPause, Op: "1", Who: "a", Reason: "abc"}).Check(),
	} {
		if err != nil {
			t.Errorf("the least %s is refused: %v", what, err)
		}
	}
}

func TestErrorText(t *testing.T) {
	const most = series.MaxErrorText
	x := strings.Repeat("x", most)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"control characters are data", "\x1b[31m\x00\n", "\x1b[31m\x00\n"},
		{"as long as allowed", x, x},
		{"a byte too long", x + "y", x},
		{"a character ends with the last byte", x[2:] + "é", x[2:] + "é"},
		{"a character lies across the end", x[1:] + "é", x[1:]},
		{"one of four bytes lies across the end", x[3:] + "👩y", x[3:]},
		{"no UTF-8", "a\xff\xfeb", "a\uFFFDb"},
		{"no UTF-8 at the end", x[1:] + "\xff", x[1:]},
		{"a megabyte", strings.Repeat("é", 1<<19), strings.Repeat("é", most/2)},
	} {
		got := series.ErrorText(c.text)
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		e := series.EndRequest{RunRef: series.RunRef{Key: "job", Number: 1, Owner: "n/1", Fence: 1}, Error: got}
		if err := e.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestArgumentErrorIsCut(t *testing.T) {
	err := driver.CheckKey(strings.Repeat("é", 5000))
	if text := err.Error(); len(text) > 250 || !utf8.ValidString(text) || !strings.Contains(text, "(10000 bytes)") {
		t.Errorf("the error has %d bytes: %s", len(text), text)
	}
	want := `lock: TTL is 5ms, must be 500ms to 24h0m0s`
	if err := driver.CheckTTL(5 * time.Millisecond); err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
}

// A check refuses a key or accepts it, and never panics. An accepted key is text that prints.
func FuzzCheckKey(f *testing.F) {
	for _, key := range []string{"", "a", "\xff", "a|b", "é", "👩\u200d🔧", strings.Repeat("x", 201)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		err := driver.CheckKey(key)
		if err == nil && (key == "" || len(key) > driver.MaxKey || !utf8.ValidString(key) || strings.ContainsAny(key, "\x00\n\r\t\x7f")) {
			t.Errorf("%q is allowed", key)
		}
		if argument(t, err); err != nil && !utf8.ValidString(err.Error()) {
			t.Errorf("the error is not UTF-8: %q", err.Error())
		}
		if driver.CheckName("node", key) == nil && (err != nil || strings.ContainsAny(key, "|;")) {
			t.Errorf("%q is allowed as a name", key)
		}
	})
}
