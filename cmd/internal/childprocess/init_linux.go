package childprocess

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Init does the work of process 1 of a container. All processes there whose parents die become its
// children, and stay zombies until it waits for them. Therefore Init starts the program again as a
// child, forwards signals to it, and waits for all others. It returns the exit code of the child,
// and false if this process is not process 1.
func Init() (code int, ran bool) {
	if os.Getpid() != 1 {
		return 0, false
	}
	runtime.LockOSThread() // the child dies with the thread that started it
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	_, noTerminal := unix.IoctlGetTermios(0, unix.TCGETS)
	child := &exec.Cmd{Path: "/proc/self/exe", Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, SysProcAttr: &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL, Setpgid: true,
		Foreground: noTerminal == nil, // the terminal's signals go to the child alone, which would otherwise get them twice
	}}
	if err := child.Start(); err != nil {
		_, _ = os.Stderr.WriteString("cronce: starting the program below process 1: " + err.Error() + "\n")
		return 1, true
	}
	go forward(signals, child.Process.Pid)
	return reap(child.Process.Pid), true
}

// forward forwards signals, except those that the runtime or the end of a child causes.
func forward(signals <-chan os.Signal, pid int) {
	for s := range signals {
		switch n := s.(syscall.Signal); n {
		case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE, syscall.SIGTTIN, syscall.SIGTTOU:
		default:
			_ = syscall.Kill(pid, n)
		}
	}
}

// reap waits for all children until one of them has ended, and returns its exit code as a shell does.
func reap(child int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err != nil && err != syscall.EINTR:
			return 1
		case pid != child:
		case status.Signaled():
			return 128 + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}
