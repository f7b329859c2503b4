package childprocess

import "syscall"

// InOwnGroup keeps a process from getting the terminal's Ctrl-C, which is for this one to
// answer, and ends it when this one is killed.
func InOwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// InOurGroup ends a process when this one dies without having ended it.
func InOurGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
