package proof

import "syscall"

// isolated starts a process in its own process group, so that a Ctrl-C in the terminal stops only the
// test. The system kills the process if the test process dies without its cleanup.
func isolated() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
