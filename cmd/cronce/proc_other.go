//go:build !unix

package main

import "syscall"

// apart does nothing here: the end of its standard input ends a node.
func apart() *syscall.SysProcAttr { return nil }

// within does nothing here: the command outlives a process that is killed.
func within() *syscall.SysProcAttr { return nil }
