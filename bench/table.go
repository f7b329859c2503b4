package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
)

// table prints rows as Markdown.
func table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| what | reach | measured | others in the same run | |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		verdict := "reached"
		if !r.OK {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.What, r.Reach, r.Measured, r.Peer, verdict)
	}
	return b.String()
}

// machine describes the machine of the measurement.
func machine(env *Env) string {
	return fmt.Sprintf("%s%s, %d CPUs (%s), %s/%s, redis-server %s over loopback.", either(env, "", "Quick version, noisy. "),
		time.Now().UTC().Format("2 Jan 2006"), runtime.GOMAXPROCS(0), processor(), runtime.GOOS, strings.TrimPrefix(runtime.Version(), "go"), redisserver.Version())
}

// processor returns the name of the CPU, if the system reports it.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // absent: unknown
	for line := range strings.Lines(string(info)) {
		if name, found := strings.CutPrefix(line, "model name"); found {
			return strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return runtime.GOARCH
}

// ms formats a duration in milliseconds.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

// us formats a duration in microseconds.
func us(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d)/1e3) }

// ratio returns a / b, or 0 if b is 0.
func ratio[T time.Duration | float64 | int](a, b T) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// part formats a ratio below one like the table's targets.
func part(r float64) string { return fmt.Sprintf("1/%.1f", ratio(1, r)) }
