//go:build !race

package scheduler_test

// storms is the number of storms in TestStorms.
const storms = uint64(25)
