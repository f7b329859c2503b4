//go:build unix && !linux

package childprocess

import "syscall"

// InOwnGroup returns attributes with which a process does not get the terminal's Ctrl-C, which this
// process handles. If this process is killed, the other one must end with its standard input.
func InOwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// InOurGroup returns no attributes: the process outlives this one if this one is killed.
func InOurGroup() *syscall.SysProcAttr { return nil }
