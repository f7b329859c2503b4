package lockcommand

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// A signal between the grant and the start of the command is no fault of the command: its code would be 126.
func TestStoppedBeforeStart(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := execute(ctx, t.Context(), 1, []string{"true"}, nil, 0, &cobra.Command{})
	if err == nil || !strings.Contains(err.Error(), "stopped before the command was started") || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := exit.Code(err, true); got != exit.Failed {
		t.Errorf("the exit code is %d", got)
	}
}
