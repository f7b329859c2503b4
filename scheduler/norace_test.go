//go:build !race

package scheduler_test

// storms are those of TestChaos.
const storms = uint64(50)
