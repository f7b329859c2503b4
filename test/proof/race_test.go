//go:build race

package proof_test

// raced: the binary is built with the race detector, as this test was.
const raced = true
