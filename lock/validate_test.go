package lock_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/lock"
)

// argument is the name in an ArgumentError, or "" if err is nil.
func argument(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	bad, ok := errors.AsType[*lock.ArgumentError](err)
	if !ok {
		t.Fatalf("the error is %T %v, want an *lock.ArgumentError", err, err)
	}
	if bad.Argument == "" || bad.Value == "" || bad.Allowed == "" {
		t.Fatalf("the error is %+v, want all three said", bad)
	}
	return bad.Argument
}

func TestCheckKey(t *testing.T) {
	for _, key := range []string{"a", " ", "a b", "stock:{42}", "é", "键", "👩\u200d🔧", "✈\ufe0f", "a|b;c", strings.Repeat("x", lock.MaxKey), strings.Repeat("é", 100)} {
		if err := lock.CheckKey(key); err != nil {
			t.Errorf("%q is refused: %v", key, err)
		}
	}
	for _, key := range []string{"", "\n", "a\tb", "a\x00", "a\x7f", "\xff", "a\xc3", "\u200b", "\u202e", "\ufeff", "\u00a0", strings.Repeat("x", lock.MaxKey+1), strings.Repeat("é", 101)} {
		if argument(t, lock.CheckKey(key)) != "key" {
			t.Errorf("%q is allowed", key)
		}
	}
}

func TestCheckTTL(t *testing.T) {
	for ttl, want := range map[time.Duration]string{
		lock.MinTTL: "", lock.MaxTTL: "", time.Minute: "",
		lock.MinTTL - 1: "TTL", lock.MaxTTL + 1: "TTL", 0: "TTL", -time.Minute: "TTL",
	} {
		if got := argument(t, lock.CheckTTL(ttl)); got != want {
			t.Errorf("%v: the error names %q, want %q", ttl, got, want)
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "node-1/3f", "a b", "é", strings.Repeat("x", lock.MaxKey)} {
		if err := lock.CheckName("node", name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for _, name := range []string{"", "a|b", "a;b", "|", "é|", "a\n", "\xff", strings.Repeat("x", lock.MaxKey+1)} {
		if argument(t, lock.CheckName("node", name)) != "node" {
			t.Errorf("%q is allowed", name)
		}
	}
}

// Claims of all shapes that a scheduler asks with are allowed. What is refused,
// the contract of the stores has.
func TestCheckClaim(t *testing.T) {
	good := lock.Claim{Key: "job", Owner: "n/1", Number: 1, TTL: lock.MinTTL, Attempts: 1}
	full := lock.Claim{Key: "job", Owner: "n/1", Number: lock.MaxNumber, After: lock.MaxNumber - 1, Between: 1e9, From: lock.MaxNumber,
		TTL: lock.MaxTTL, Deadline: 1e18, Late: lock.ReasonMisfire, Attempts: 1e9, Rerun: true, Window: 1e18, Overlap: lock.OverlapReplace,
		Backlog: true, Latest: lock.MaxNumber, Fence: lock.MaxNumber, Revision: "3f2a9c"}
	for _, c := range []lock.Claim{good, full} {
		if err := lock.CheckClaim(&c); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if got := argument(t, lock.CheckClaim(&lock.Claim{})); got != "key" {
		t.Errorf("of an empty claim the error names %q, want the first argument", got)
	}
}

func TestCheckRequests(t *testing.T) {
	ref := lock.RunRef{Key: "job", Number: 1, Owner: "n/1", Fence: 1}
	renewal := ref
	renewal.TTL = lock.MinTTL
	for what, err := range map[string]error{
		"acquisition": lock.CheckAcquisition(&lock.Acquisition{Key: "k", Owner: "n/1", TTL: lock.MinTTL}),
		"holding":     lock.CheckHolding(&lock.Holding{Key: "k", Owner: "n/1", Fence: 1, TTL: lock.MinTTL}),
		"release":     lock.CheckRelease(&lock.Holding{Key: "k", Owner: "n/1"}),
		"opening":     lock.CheckOpening(&lock.Opening{Key: "k", Node: "n"}),
		"run":         lock.CheckRun(&renewal),
		"ending":      lock.CheckEnding(&lock.Ending{RunRef: ref}),
		"change":      lock.CheckChange("k", 1),
		"beat":        lock.CheckBeat("n", lock.MinTTL),
	} {
		if err != nil {
			t.Errorf("the least %s is refused: %v", what, err)
		}
	}
}

func TestErrorText(t *testing.T) {
	const most = lock.MaxErrorText
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
		got := lock.ErrorText(c.text)
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		e := lock.Ending{RunRef: lock.RunRef{Key: "job", Number: 1, Owner: "n/1", Fence: 1}, Error: got}
		if err := lock.CheckEnding(&e); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestArgumentErrorIsCut(t *testing.T) {
	err := lock.CheckKey(strings.Repeat("é", 5000))
	if text := err.Error(); len(text) > 250 || !utf8.ValidString(text) || !strings.Contains(text, "(10000 bytes)") {
		t.Errorf("the error has %d bytes: %s", len(text), text)
	}
	want := `lock: TTL is 5ms, allowed is 500ms to 24h0m0s`
	if err := lock.CheckTTL(5 * time.Millisecond); err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
}

func TestNodeOf(t *testing.T) {
	for owner, want := range map[string]string{"node/1": "node", "a/b/1": "a/b", "node": "", "": "", "/1": "", "node/": "node"} {
		if got := lock.NodeOf(owner); got != want {
			t.Errorf("NodeOf(%q) is %q, want %q", owner, got, want)
		}
	}
}

// No key makes a check fail in any way but by refusing it, and what it allows is
// text that may be printed.
func FuzzCheckKey(f *testing.F) {
	for _, key := range []string{"", "a", "\xff", "a|b", "é", "👩\u200d🔧", strings.Repeat("x", 201)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		err := lock.CheckKey(key)
		if err == nil && (key == "" || len(key) > lock.MaxKey || !utf8.ValidString(key) || strings.ContainsAny(key, "\x00\n\r\t\x7f")) {
			t.Errorf("%q is allowed", key)
		}
		if argument(t, err); err != nil && !utf8.ValidString(err.Error()) {
			t.Errorf("the error is not UTF-8: %q", err.Error())
		}
		if lock.CheckName("node", key) == nil && (err != nil || strings.ContainsAny(key, "|;")) {
			t.Errorf("%q is allowed as a name", key)
		}
	})
}
