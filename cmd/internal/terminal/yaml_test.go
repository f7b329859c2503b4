package terminal

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// A value that is printed as YAML is read back unchanged, with any texts.
func TestPrintYAML(t *testing.T) {
	type inner struct {
		Text string   `json:"text"`
		List []string `json:"list"`
		None []int    `json:"none"`
	}
	value := map[string]any{
		"a":  inner{"x: y # z", []string{"no", "\x1b[31m", "\u202e", "line\nline", `back\slash"`, "😀", "123", ""}, []int{}},
		"on": true, "n": 1.5, "empty": map[string]int{}, "weird key": nil, "nested": []any{[]any{1, 2}, map[string]any{"k": "v"}},
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
	a, _ := back["a"].(map[string]any)
	list, _ := a["list"].([]any)
	want := value["a"].(inner)
	if a["text"] != want.Text || len(list) != len(want.List) || back["on"] != true {
		t.Fatalf("%v\n%s", back, b.String())
	}
	for i, text := range want.List {
		if list[i] != text {
			t.Errorf("%q was read as %q", text, list[i])
		}
	}
}
