package rig

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Goroutines returns a function that counts this goroutine and the goroutines that it starts,
// directly or indirectly. Goroutines of other tests are not counted. The function is valid until
// the end of the test.
func Goroutines(t testing.TB) func() int {
	label := fmt.Sprint(t.Name(), time.Now().UnixNano())
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("started by", label)))
	t.Cleanup(func() { pprof.SetGoroutineLabels(context.Background()) })
	return func() (count int) {
		var profile strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			t.Fatal(err)
		}
		_, records, _ := strings.Cut(profile.String(), "\n") // the first line is the total
		for record := range strings.SplitSeq(records, "\n\n") {
			var n int
			if _, err := fmt.Sscan(record, &n); err == nil && strings.Contains(record, strconv.Quote(label)) {
				count += n
			}
		}
		return count
	}
}
