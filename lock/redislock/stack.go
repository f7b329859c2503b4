package redislock

import "runtime"

// deepen makes the stack of a goroutine that asks a batch large enough for the
// client below, at once: it would grow in several steps, and be copied each time
// with more on it. Requests come on goroutines that have just begun.
//
//go:noinline
func deepen() {
	var room [4 << 10]byte
	runtime.KeepAlive(&room)
}
