package main

import "syscall"

// apart keeps a node from getting the terminal's Ctrl-C, which is for the demo to
// answer, and ends it when the demo is killed.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// within ends a command when this process dies without having ended it.
func within() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
