//go:build !linux

package proc

import "syscall"

// DieWithParent does nothing where the system cannot end a child with its parent.
func DieWithParent() *syscall.SysProcAttr { return nil }
