package driver_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/driver"
)

// The note is the text after the first prefix that has the form of a Locker's owner, and may have
// any form itself. Other owners have no note.
func TestCutNote(t *testing.T) {
	const owner = "pod 1/web/ABCDEFGHIJ234.1z"
	for text, want := range map[string][2]string{
		owner:                              {owner, ""},
		owner + " why":                     {owner, "why"},
		owner + " a b/c.d ":                {owner, "a b/c.d "},
		owner + " ":                        {owner, ""},
		owner + "  why":                    {owner, " why"},
		owner + " evil/ABCDEFGHIJ234.2 so": {owner, "evil/ABCDEFGHIJ234.2 so"},
		"pod/ABCDEFGHIJ23.1 why":           {"pod/ABCDEFGHIJ23.1 why", ""},
		"pod/ABCDEFGHIJ2345.1 why":         {"pod/ABCDEFGHIJ2345.1 why", ""},
		"pod/ABCDEFGHIJ231.1 why":          {"pod/ABCDEFGHIJ231.1 why", ""},
		"pod/ABCDEFGHIJ234. why":           {"pod/ABCDEFGHIJ234. why", ""},
		"pod/ABCDEFGHIJ234.A why":          {"pod/ABCDEFGHIJ234.A why", ""},
		"another program why":              {"another program why", ""},
		"":                                 {"", ""},
	} {
		got, note, found := driver.CutNote(text)
		if got != want[0] || note != want[1] || found != (got != text) {
			t.Errorf("%q is cut into %q and %q, %v", text, got, note, found)
		}
		if node := driver.NodeOf(text); strings.HasPrefix(text, owner) && node != "pod 1/web" {
			t.Errorf("the node of %q is %q", text, node)
		}
	}
}

func TestNodeOf(t *testing.T) {
	for owner, want := range map[string]string{"node/1": "node", "a/b/1": "a/b", "node": "", "": "", "/1": "", "node/": "node"} {
		if got := driver.NodeOf(owner); got != want {
			t.Errorf("NodeOf(%q) is %q, want %q", owner, got, want)
		}
	}
}
