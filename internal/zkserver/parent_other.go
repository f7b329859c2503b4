//go:build !linux

package zkserver

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
