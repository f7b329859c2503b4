package proof

import "syscall"

// isolated gives a process a group of its own, so that a Ctrl-C at the terminal
// goes to the test alone, and makes the system end it when the test process dies
// without its cleanup.
func isolated() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
