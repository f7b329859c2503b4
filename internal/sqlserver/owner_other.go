//go:build !linux

package sqlserver

import "syscall"

func unprivileged(string) (*syscall.SysProcAttr, error) { return nil, nil }
