//go:build !unix

package serverprocess

import "syscall"

// These systems have no such signals: signal 0 changes nothing.
const (
	freeze = syscall.Signal(0)
	thaw   = syscall.Signal(0)
)
