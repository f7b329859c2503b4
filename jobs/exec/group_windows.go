package exec

import (
	"os"
	osexec "os/exec"
	"strconv"
	"syscall"
)

// signalName returns "", because there are no signals.
func signalName(int) string { return "" }

func ownGroup(*credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func startGroup(cmd *osexec.Cmd, _ *int) error { return cmd.Start() }

// terminateGroup does nothing: there is no way to request that a process without a console ends.
func terminateGroup(*osexec.Cmd) {}

// killGroup ends the process and the processes that it started.
func killGroup(cmd *osexec.Cmd) {
	_ = osexec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
	_ = cmd.Process.Kill()
}

func exitOf(s *os.ProcessState) (code, signal int) { return s.ExitCode(), 0 }
