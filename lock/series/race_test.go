//go:build race

package series_test

// mostStates bounds the search of each world. The race detector finds nothing in a
// search by one goroutine and makes it ten times slower: see norace_test.go.
const mostStates = 500
