//go:build race

package scheduler_test

// storms is the number of storms in TestStorms. The race detector makes them six times slower, and
// each runs the same code: see norace_test.go.
const storms = uint64(8)
