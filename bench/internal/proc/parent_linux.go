package proc

import "syscall"

// DieWithParent makes the system end a child when this process dies without having ended it.
func DieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
