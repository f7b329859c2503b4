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
	if b, err = b.WithUserHeader("x-forwarded-email"); err != nil || !strings.HasSuffix(b.Line(), " X-Forwarded-Email") {
		t.Fatalf("%q %v", b.Line(), err)
	}
	tokens, err := ParseTokens("# people\r\n\r\n\t# and programs\n" + a.Line() + "\r\n  " + b.Line() + "\n")
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

// Each fault of the file is named once with its line, and no hash is repeated.
func TestTokenFaults(t *testing.T) {
	good, _, _ := NewToken("a", Viewer)
	hash := strings.Fields(good.Line())[2]
	for text, want := range map[string]string{
		"": "there is no token", "a viewer": "line 1: has 2 words", "a root " + hash: `line 1: role "root"`, "a viewer 12": "line 1: the SHA-256", "a none " + hash: "role",
		good.Line() + "\n" + good.Line(): `line 2: id "a" is given twice`, good.Line() + "\nb admin " + hash: `line 2: id "b" has the token of "a"`, "a/b viewer " + hash: "line 1: the id", "a viewer " + hash + "00": "64 hexadecimal", "a viewer " + hash + "0": "64 hexadecimal",
		"a viewer " + hash + " b c": "line 1: has 5 words", "a viewer " + hash + " cookie": "line 1: the header", "a viewer " + hash + " Authorization": "the header", "a viewer " + hash + " hOST": "the header",
		"a viewer " + hash + " X-Forwarded-Email:": "the header", "a viewer " + hash + " X-\u00e4": "the header", "a viewer " + hash + " " + strings.Repeat("a", 65): "the header",
	} {
		_, err := ParseTokens(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), hash) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if _, _, err := NewToken("a b", Viewer); err == nil {
		t.Error("an id with a space is made")
	}
}

// A token that is read from a file has one line, from which it is read again.
func FuzzParseTokens(f *testing.F) {
	token, _, _ := NewToken("gateway", Operator)
	proxy, _ := token.WithUserHeader("X-Forwarded-Email")
	for _, seed := range []string{"", "# none", token.Line(), proxy.Line() + "\n\n" + token.Line(), proxy.Line() + " Cookie", "a none 12 Host"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens, _ := ParseTokens(text)
		for _, token := range tokens {
			if again, err := ParseTokens(token.Line()); err != nil || len(again) != 1 || again[0] != token {
				t.Errorf("%+v is read again as %+v: %v", token, again, err)
			}
		}
	})
}
