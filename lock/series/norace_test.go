//go:build !race

package series_test

// mostStates bounds the search of each world.
const mostStates = 4_000
