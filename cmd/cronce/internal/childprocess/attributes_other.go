//go:build !unix

package childprocess

import "syscall"

// InOwnGroup does nothing here: the end of its standard input has to end the process.
func InOwnGroup() *syscall.SysProcAttr { return nil }

// InOurGroup does nothing here: the process outlives this one when it is killed.
func InOurGroup() *syscall.SysProcAttr { return nil }
