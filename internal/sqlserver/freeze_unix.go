//go:build unix

package sqlserver

import "syscall"

const (
	freeze = syscall.SIGSTOP
	thaw   = syscall.SIGCONT
)
