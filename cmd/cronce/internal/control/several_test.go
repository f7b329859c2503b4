package control

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// A line answers a question. If the context ends before the answer, the command fails; after a no it does not.
func TestAgreed(t *testing.T) {
	for _, row := range []struct {
		answer, printed string
		yes             bool
		code            int
	}{
		{answer: "y\n", printed: "Pause 2 jobs? [y/N] ", yes: true},
		{answer: " YES \n", printed: "Pause 2 jobs? [y/N] ", yes: true},
		{answer: "n\n", printed: "Pause 2 jobs? [y/N] Nothing was done.\n"},
		{answer: "\n", printed: "Pause 2 jobs? [y/N] Nothing was done.\n"},
		{answer: "", printed: "Pause 2 jobs? [y/N] \n", code: exit.Failed},
	} {
		synctest.Test(t, func(t *testing.T) {
			in, typed := io.Pipe()
			var out bytes.Buffer
			cmd := &cobra.Command{Use: "pause"}
			cmd.SetIn(in)
			cmd.SetOut(&out)
			go func() { _, _ = io.WriteString(typed, row.answer) }()
			defer typed.Close()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			yes, err := agreed(ctx, cmd, "Pause 2 jobs?")
			code := exit.Fine
			if err != nil {
				code = exit.Code(err, true)
			}
			if yes != row.yes || code != row.code || out.String() != row.printed {
				t.Errorf("%q: %v, exit code %d, printed %q, want %v, %d, %q", row.answer, yes, code, out.String(), row.yes, row.code, row.printed)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "pause: nothing was done") {
				t.Errorf("%q: %v", row.answer, err)
			}
		})
	}
}
