package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/why"
)

// The last lines of an output are printed below the answer, escaped, with the number of further
// lines; the JSON has all of it.
func TestWhyPrintsOutput(t *testing.T) {
	t.Parallel()
	long := ""
	for i := range 25 {
		long += fmt.Sprintf("line %d\n", i)
	}
	hostile := "a\tb\x1b[31mred\x00\r\n\u202egnp.exe <script>\n\n"
	for text, want := range map[string]string{
		"":      "",
		"one":   "\nOutput:\n  one\n",
		hostile: "\nOutput:\n  a    b\\x1b[31mred\\x00\\r\n  \\u202egnp.exe <script>\n  \n",
		long:    "\nOutput, the last 20 lines; -o json has 5 more:\n  line 5\n",
	} {
		report := whyReport{Answer: why.Answer{Job: "a", Tick: time.UnixMilli(0).UTC(), State: why.Ran, Sentence: "It ran."}, Output: text}
		var b strings.Builder
		if err := printWhy(&b, &series.Journal{}, &series.Series{}, report, command.OutputText); err != nil {
			t.Fatal(err)
		}
		head, got, _ := strings.Cut(b.String(), "It ran.\n")
		if head == "" || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%.40q is printed as %q, want %q", text, got, want)
		}
		if n := strings.Count(got, "\n"); n > shownLines+2 {
			t.Errorf("%d lines", n)
		}
		b.Reset()
		if err := printWhy(&b, &series.Journal{}, &series.Series{}, report, command.OutputJSON); err != nil {
			t.Fatal(err)
		}
		var read struct{ Output string }
		if err := json.Unmarshal([]byte(b.String()), &read); err != nil || read.Output != text || strings.ContainsAny(b.String(), "\x00\x1b\u202e") {
			t.Errorf("%v: the JSON is %s", err, b.String())
		}
	}
}

// If an output cannot be read, the answer is still printed. A forged outcome does not steer the terminal.
func TestWhyWithoutOutput(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	report := whyReport{Answer: why.Answer{Outcome: "bad\x1b", Sentence: "It ran."}, OutputUnknown: "no\x1b table"}
	if err := printWhy(&b, &series.Journal{}, &series.Series{}, report, command.OutputText); err != nil || !strings.HasSuffix(b.String(), ": bad\\x1b\nIt ran.\n\nIts output is not known: no\\x1b table\n") {
		t.Errorf("%v: %q", err, b.String())
	}
}
