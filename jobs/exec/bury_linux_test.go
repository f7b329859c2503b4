package exec

import (
	"testing"
	"testing/synctest"
	"time"
)

// A process can start another one while the processes are listed. So the search ends only when it has found none twice
// in a row. It also ends if a process cannot be killed.
func TestUntilNoneIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		found func(search int) bool
		want  int
	}{
		"none":                        {func(int) bool { return false }, 2},
		"one":                         {func(search int) bool { return search == 1 }, 3},
		"one that another one starts": {func(search int) bool { return search != 3 && search < 5 }, 6},
		"one that cannot be killed":   {func(int) bool { return true }, int(lastKills / sweepEvery)},
	} {
		synctest.Test(t, func(t *testing.T) {
			searches, began := 0, time.Now()
			untilNoneIsFound(func() bool {
				searches++
				return c.found(searches)
			})
			if took := time.Since(began); searches != c.want || took != time.Duration(c.want)*sweepEvery {
				t.Errorf("%s: %d searches in %v, want %d", name, searches, took, c.want)
			}
		})
	}
}
