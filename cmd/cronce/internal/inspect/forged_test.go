package inspect

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// forged is a text that an attacker with access to the keys of the store could write.
const forged = "n\x1b]0;owned\a\u202e\u009b2J\nOK 9 ticks\tin order\xff"

// clean fails if an output contains the attacker's text unescaped.
func clean(t *testing.T, what, out string) {
	t.Helper()
	if !strings.Contains(out, "owned") {
		t.Errorf("%s does not show the text: %q", what, out)
	}
	if terminal.PrintableText(out) != out || strings.Contains(out, "\nOK 9") {
		t.Errorf("%s: %q", what, out)
	}
}

// Every command that shows texts of others escapes them.
func TestForgedTexts(t *testing.T) {
	var b bytes.Buffer
	show := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		clean(t, what, b.String())
		b.Reset()
	}
	reports := []verify.Report{{Job: forged, Missed: map[string]int{forged: 1}, Violations: []verify.Violation{{Invariant: "I1", Text: forged}}}}
	p := &Proof{Summary: verify.Sum(reports...), Remarks: []string{forged}}
	show("verify", printProof(&b, p))
	show("verify -o json", terminal.PrintJSON(&b, p))
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	terminal.PrintRow(table, forged, series.Verdict(forged))
	show("a row", table.Flush())
	for _, format := range []string{"json", "console"} {
		log, flush := terminal.NewLogger("info", format, &b)
		log.Info("run finished", slog.String("err", forged))
		flush()
		show("the log as "+format, nil)
	}
}
