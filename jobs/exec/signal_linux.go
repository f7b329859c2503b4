package exec

import "golang.org/x/sys/unix"

// signalName returns the name of a signal, or "" for 0.
func signalName(n int) string { return unix.SignalName(unix.Signal(n)) }
