package format

import (
	"strings"
	"testing"
)

func TestIsName(t *testing.T) {
	for text, want := range map[string]bool{
		"a": true, "A-Z.a_z.0-9": true, "-": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "ä": false, "a/b": false, "a\n": false, "{a}": false,
	} {
		if IsName(text) != want {
			t.Errorf("%q is a name: %v", text, !want)
		}
	}
}
