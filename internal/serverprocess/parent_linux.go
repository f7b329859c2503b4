package serverprocess

import (
	"os/exec"
	"syscall"
)

// EndWithParent makes the system signal a command's process when this process dies without its
// cleanup, as in a panic or a timeout. It does nothing on systems other than Linux.
func EndWithParent(cmd *exec.Cmd, sig syscall.Signal) {
	var attributes syscall.SysProcAttr
	if cmd.SysProcAttr != nil {
		attributes = *cmd.SysProcAttr // other commands may share the attributes
	}
	attributes.Pdeathsig = sig
	cmd.SysProcAttr = &attributes
}
