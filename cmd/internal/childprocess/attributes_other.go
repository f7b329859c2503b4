//go:build !unix

package childprocess

import "syscall"

// InOwnGroup returns no attributes: the process must end with its standard input.
func InOwnGroup() *syscall.SysProcAttr { return nil }

// InOurGroup returns no attributes: the process outlives this one if this one is killed.
func InOurGroup() *syscall.SysProcAttr { return nil }
