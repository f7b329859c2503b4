package readme

import (
	"regexp"
	"strings"
	"testing"
)

var banned = regexp.MustCompile(`(?i)\b(who|somebody|someone|nobody|anybody|anyone|tell|tells|told|hear|hears|heard)\b`)

// The pages name the actor, and use one verb for one thing: see Style in CONTRIBUTING.
func TestWords(t *testing.T) {
	for _, page := range pages(t) {
		text := fenced.ReplaceAllStringFunc(read(t, page), func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "    ") {
				continue // a command or its output
			}
			for _, word := range banned.FindAllString(quoted.ReplaceAllString(line, ""), -1) {
				t.Errorf("%s:%d says %q", page, i+1, word)
			}
		}
	}
}
