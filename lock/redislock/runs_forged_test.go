package redislock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// A run of a series that was tampered with is over if it ends when no lease does, so that the
// next number is granted; and more runs than one step reads stop their own series alone.
func TestForgedRuns(t *testing.T) {
	t.Parallel()
	d, raw := realDriver(t, redislock.Options{})
	now := time.Now()
	for name, c := range map[string]struct {
		until time.Duration // of each run
		many  int
		want  series.Kind
		lost  int // numbers that are settled
	}{
		"a run that may be": {47 * time.Hour, 1, series.KindSkipped, 0},
		"a run for ever":    {49 * time.Hour, 1, series.KindGranted, 1},
		"too many runs":     {time.Hour, 40_000, series.KindUnknown, 0},
	} {
		keys := []string{"forged " + name, "other " + name}
		for i := range keys {
			keys[i] = strings.ReplaceAll(keys[i], " ", "-")
		}
		opened := d.Open(t.Context(), []series.OpenRequest{{Key: keys[0], Node: "n"}, {Key: keys[1], Node: "n"}})
		mark := opened[0].Mark
		var runs strings.Builder
		for i := range c.many {
			fmt.Fprintf(&runs, ";%d|o|forged/1|%d|1|%d|%d|0", mark-int64(i), now.UnixMicro(), mark-int64(i), now.Add(c.until).UnixMilli())
		}
		must(t, raw.HSet(t.Context(), "cronce:v1:{cronce.0}:s:"+keys[0], "r", runs.String()).Err())
		var cs []series.Claim
		for i, key := range keys {
			cs = append(cs, series.Claim{Key: key, Owner: "n/1", Number: opened[i].Mark + 1, After: opened[i].Mark, TTL: time.Minute,
				Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber})
		}
		waitOn(t, raw, 2*time.Millisecond) // the numbers are due then
		as := d.Claim(t.Context(), cs)
		if as[0].Kind != c.want || (as[0].Err != nil) != (c.want == series.KindUnknown) || len(as[0].Settled) != c.lost {
			t.Errorf("%s: the answer is %+v, want %v", name, as[0], c.want)
		}
		if as[1].Kind != series.KindGranted {
			t.Errorf("%s: another series is answered %+v", name, as[1])
		}
	}
}
