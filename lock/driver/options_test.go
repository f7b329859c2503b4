package driver_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

func TestCheckNamespace(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "shop-1.eu_west": true, "9": true, strings.Repeat("a", 64): true,
		"": false, "-a": false, ".a": false, "a:b": false, "a{b}": false, "é": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		err := driver.CheckNamespace(name)
		if e, is := errors.AsType[*driver.ArgumentError](err); (err == nil) != ok || err != nil && (!is || e.Argument != "Options.Namespace") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestCheckJournal(t *testing.T) {
	if err := series.CheckJournal(1, 1); err != nil {
		t.Error(err)
	}
	for _, bad := range []struct {
		lines    int
		bytes    int64
		argument string
	}{{0, 1, "Options.JournalLines"}, {-1, 1, "Options.JournalLines"}, {1, 0, "Options.JournalBytes"}} {
		err := series.CheckJournal(bad.lines, bad.bytes)
		if e, is := errors.AsType[*driver.ArgumentError](err); !is || e.Argument != bad.argument {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// An escape has only plain bytes and %XX, and can be undone.
func FuzzEscaping(f *testing.F) {
	f.Add("user/7/cart")
	f.Add("%2F{é}")
	e := driver.NewEscaping("._")
	f.Fuzz(func(t *testing.T, s string) {
		escaped := e.Escape(s)
		if strings.Trim(escaped, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%") != "" {
			t.Errorf("the escape of %q is %q", s, escaped)
		}
		if back, ok := driver.Unescape(escaped); !ok || back != s {
			t.Errorf("%q is read as %q, want %q", escaped, back, s)
		}
		if got := string(e.Append([]byte("a"), s)); got != "a"+escaped {
			t.Errorf("%q is appended as %q", s, got)
		}
	})
}
