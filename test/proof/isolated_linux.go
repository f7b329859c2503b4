package proof

import (
	"os"
	"syscall"
)

// isolated starts a process in its own process group, so that a Ctrl-C in the terminal stops only the
// test. The system kills the process if the test process dies without its cleanup.
func isolated() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// shorten gives a pipe room for one page, so that a log soon hangs if it is not read.
func shorten(pipe *os.File) {
	const setPipeSize = 1031 // F_SETPIPE_SZ
	if c, err := pipe.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, 4096) }) // else it has more room
	}
}
