// Package soak runs a cluster for hours, under faults, and judges each of its ticks. It shows that neither the memory of the
// nodes and of Redis nor the number of goroutines grows.
package soak
