package serverprocess

import (
	"os/exec"
	"syscall"
)

// EndWithParent makes the system signal a command's process when this one dies
// without its cleanup, as in a panic or a timeout. Elsewhere than on Linux it does
// nothing.
func EndWithParent(cmd *exec.Cmd, sig syscall.Signal) {
	var attributes syscall.SysProcAttr
	if cmd.SysProcAttr != nil {
		attributes = *cmd.SysProcAttr // which other commands may share
	}
	attributes.Pdeathsig = sig
	cmd.SysProcAttr = &attributes
}
