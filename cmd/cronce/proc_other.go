//go:build !unix

package main

import "syscall"

// apart does nothing here: the end of its standard input ends a node.
func apart() *syscall.SysProcAttr { return nil }
