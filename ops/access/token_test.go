package access

import (
	"strings"
	"testing"
)

// A token that was made is read again from its line, and found by its text alone.
func TestTokens(t *testing.T) {
	a, text, err := NewToken("grafana", Viewer)
	if err != nil || !strings.HasPrefix(text, "cro_") || len(text) != 68 || strings.Contains(a.Line(), text) {
		t.Fatalf("%q %v", text, err)
	}
	b, _, _ := NewToken("op-1@example.com", Admin)
	tokens, err := ParseTokens("# people\n\n" + a.Line() + "\n" + b.Line() + "\n")
	if err != nil || len(tokens) != 2 || tokens[0] != a || tokens[1] != b {
		t.Fatalf("%v %v", tokens, err)
	}
	if found, ok := find(tokens, text); !ok || found != a {
		t.Errorf("%v %t", found, ok)
	}
	for _, wrong := range []string{"", "cro_", text[:len(text)-1], text + " "} {
		if _, ok := find(tokens, wrong); ok {
			t.Errorf("%q is a token", wrong)
		}
	}
}

// Each fault of the file is named with its line, and no hash is repeated.
func TestTokenFaults(t *testing.T) {
	good, _, _ := NewToken("a", Viewer)
	hash := strings.Fields(good.Line())[2]
	for text, want := range map[string]string{
		"": "there is no token", "a viewer": "line 1: has 2 words", "a root " + hash: `line 1: role "root"`, "a viewer 12": "line 1: the SHA-256", "a none " + hash: "role",
		good.Line() + "\n" + good.Line(): `line 2: id "a" is given twice`, "a/b viewer " + hash: "line 1: the id", "a viewer " + hash + "00": "64 hexadecimal",
	} {
		_, err := ParseTokens(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), hash) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if _, _, err := NewToken("a b", Viewer); err == nil {
		t.Error("an id with a space is made")
	}
}
