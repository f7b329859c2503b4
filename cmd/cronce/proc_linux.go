package main

import "syscall"

// apart keeps a node from getting the terminal's Ctrl-C, which is for the demo to
// answer, and ends it when the demo is killed.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
