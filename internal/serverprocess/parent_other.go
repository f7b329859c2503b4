//go:build !linux

package serverprocess

import (
	"os/exec"
	"syscall"
)

// EndWithParent does nothing where the system cannot end a child with its parent.
func EndWithParent(*exec.Cmd, syscall.Signal) {}
