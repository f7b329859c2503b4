package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The test binary is also the program that the example starts as a node.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args[1:], "-node") {
		main()
		return
	}
	os.Exit(m.Run())
}

// Each row is done once, although processes are killed meanwhile.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), 20_000, 20, 3, 700*time.Millisecond, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"20 shards on 3 processes", "the tick is ok", "20000 of 20000 rows were done once"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it prints %q, want %q in it", &out, want)
		}
	}
}
