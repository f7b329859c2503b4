package terminal

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// A value that is printed as YAML is read back unchanged, with any texts.
func TestPrintYAML(t *testing.T) {
	type inner struct {
		List []string `json:"list"` // the fields are in the order of a map
		None []int    `json:"none"`
		Text string   `json:"text"`
	}
	value := map[string]any{
		"a":  inner{[]string{"no", "\x1b[31m", "\u202e", "line\nline", `back\slash"`, "😀", "123", "", "a\tb", "\uffff\U000e0041"}, []int{}, "x: y # z"},
		"on": true, "n": 1.5, "large": 12345678, "empty": map[string]int{}, "weird key": nil, "nested": []any{[]any{1, 2}, map[string]any{"k": "v"}},
	}
	var b strings.Builder
	if err := PrintYAML(&b, value); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("%q", text)
	}
	var back map[string]any
	if err := yaml.Unmarshal([]byte(b.String()), &back); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(back); err != nil || string(got) != string(text) {
		t.Errorf("%s was read as %s, %v:\n%s", text, got, err, b.String())
	}
	for _, line := range []string{"large: 12345678\n", "empty: {}\n", "  none: []\n", "\"on\": true\n", "\"weird key\": null\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no line %q in\n%s", line, b.String())
		}
	}
}
