//go:build unix && !linux

package main

import "syscall"

// apart keeps a node from getting the terminal's Ctrl-C, which is for the demo to
// answer. When the demo is killed, the end of its standard input ends the node.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// within does nothing here: the command outlives a process that is killed.
func within() *syscall.SysProcAttr { return nil }
