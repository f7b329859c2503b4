//go:build !race

package proof_test

// raced: the binary is built as this test was, without the race detector.
const raced = false
