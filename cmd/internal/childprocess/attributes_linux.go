package childprocess

import "syscall"

// InOwnGroup returns attributes with which a process does not get the terminal's Ctrl-C, which this
// process handles, and is ended when this process is killed.
func InOwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// InOurGroup returns attributes that end a process when this one dies without having ended it.
func InOurGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
