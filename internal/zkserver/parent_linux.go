package zkserver

import "syscall"

// dieWithParent makes the system end the server when the test process dies
// without its cleanup, as in a panic or a timeout.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
