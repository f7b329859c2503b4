package sms_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cronce/cronce/jobs/sms"
)

// Many goroutines send at once; each line arrives whole, and masked.
func TestConsoleLines(t *testing.T) {
	var out bytes.Buffer
	g := sms.NewConsole(&out)
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			m := sms.Message{ID: fmt.Sprintf("m-%02d", i), To: "+12025550123", Text: "Two\nlines, " + strings.Repeat("é", 60)}
			if err := g.Send(t.Context(), m); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 50 {
		t.Fatalf("%d lines, want 50", len(lines))
	}
	want := ` to +120****0123: "Two\nlines, ` + strings.Repeat("é", 29) + `"…`
	for _, line := range lines {
		if !strings.HasPrefix(line, "sms m-") || !strings.HasSuffix(line, want) {
			t.Errorf("line %q, want it to end in %q", line, want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestConsoleErrors(t *testing.T) {
	if err := sms.NewConsole(full{}).Send(t.Context(), hello); err == nil {
		t.Error("Send to a full disk = nil")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := sms.NewConsole(&out).Send(ctx, hello); !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("Send with an ended context = %v, wrote %q", err, &out)
	}
}
