package command

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// refusing refuses each write with an error; nil: it takes the write.
type refusing struct{ err error }

func (r refusing) Write(data []byte) (int, error) { return len(data), r.err }

// A command whose output was not written does not end well, even if it ignores the error of the write. The code of a
// result that was to be printed stays, and a reader that has gone is no error.
func TestOutputNotWritten(t *testing.T) {
	const lost = "p: the command has ended, but its output is not complete: no space left on device\n"
	for name, c := range map[string]struct {
		write, ends error
		code        int
		want        string
	}{
		"written":             {nil, nil, exit.Fine, ""},
		"full":                {syscall.ENOSPC, nil, exit.Failed, lost},
		"no reader":           {syscall.EPIPE, nil, exit.Fine, ""},
		"full, a bad result":  {syscall.ENOSPC, exit.Printed(exit.Refused, "held"), exit.Refused, lost},
		"full, another error": {syscall.ENOSPC, exit.Doubt(errors.New("no answer")), exit.NotKnown, "p: no answer\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root := func() *cobra.Command {
				p := &cobra.Command{Use: "p"}
				p.AddCommand(&cobra.Command{Use: "do", RunE: func(cmd *cobra.Command, _ []string) error {
					fmt.Fprintln(cmd.OutOrStdout(), "done")
					return c.ends
				}})
				return p
			}
			var stderr strings.Builder
			code := Execute(t.Context(), root, []string{"do"}, strings.NewReader(""), refusing{c.write}, &stderr)
			if code != c.code || stderr.String() != c.want {
				t.Errorf("got %d and %q, want %d and %q", code, &stderr, c.code, c.want)
			}
		})
	}
}
