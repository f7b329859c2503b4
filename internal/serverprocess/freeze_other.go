//go:build !unix

package serverprocess

import "syscall"

// There are no such signals here: sending none changes nothing.
const (
	freeze = syscall.Signal(0)
	thaw   = syscall.Signal(0)
)
