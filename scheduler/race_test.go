//go:build race

package scheduler_test

// storms are those of TestChaos. The race detector makes them six times slower and
// sees the same code in each: see norace_test.go.
const storms = uint64(8)
