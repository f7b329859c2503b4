//go:build !linux

package redisserver

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
