package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
)

// Ten buyers get five items, and what none of them pays for comes back. In a second run the five
// buyers whose orders have ended get nothing more under the same ids.
func TestRun(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const want = "10 buyers, 5 items: 5 orders accepted\nnot paid in time: 5 items are back in stock\n"
	for range 2 {
		var out strings.Builder
		if err := run(ctx, server.Addr(), "tea", &out); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("printed %q, want %q", out.String(), want)
		}
	}
}
