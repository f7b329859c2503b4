// Package measure reads CPU time, percentiles and a Redis server's counters.
package measure

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// CPU returns the processor time that this process has used, user and system.
func CPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0 // cannot fail for the own process
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// Percentile returns the value below which a share p of the sorted values lies, with p from 0 to 1;
// 0 if there is no value.
func Percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

// Median returns the median of values, whose order it does not change.
func Median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		var none T
		return none
	}
	return sorted[len(sorted)/2]
}

// Mean returns the average, or 0 if there is no value.
func Mean(values []time.Duration) time.Duration {
	var sum time.Duration
	for _, v := range values {
		sum += v
	}
	return sum / time.Duration(max(len(values), 1))
}

// A Usage is the work of a Redis server so far.
type Usage struct {
	CPU   time.Duration
	Calls map[string]int64 // by command, including commands inside scripts
}

// Redis reads a server's counters.
func Redis(ctx context.Context, c *redis.Client) (Usage, error) {
	u := Usage{Calls: map[string]int64{}}
	for _, section := range []string{"cpu", "commandstats"} {
		info, err := c.Info(ctx, section).Result()
		if err != nil {
			return u, err
		}
		for line := range strings.Lines(info) {
			u.add(strings.TrimSpace(line))
		}
	}
	return u, nil
}

// add reads "used_cpu_user:0.1" and "cmdstat_get:calls=1,usec=2".
func (u *Usage) add(line string) {
	name, value, _ := strings.Cut(line, ":")
	switch command, isCommand := strings.CutPrefix(name, "cmdstat_"); {
	case isCommand:
		calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		u.Calls[command], _ = strconv.ParseInt(calls, 10, 64)
	case name == "used_cpu_user" || name == "used_cpu_sys":
		seconds, _ := strconv.ParseFloat(value, 64)
		u.CPU += time.Duration(seconds * float64(time.Second))
	}
}

// Total returns the number of all commands, without the commands of this package.
func (u Usage) Total() (sum int64) {
	for name, calls := range u.Calls {
		if name != "info" && name != "ping" {
			sum += calls
		}
	}
	return sum
}

// Pause reports whether d passed before ctx ended.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
