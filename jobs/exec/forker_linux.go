package exec

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A forker starts commands on a thread of its own, which never ends, because commands die with the
// thread that started them. These commands gain no privileges (PR_SET_NO_NEW_PRIVS): the setting
// belongs to a thread, cannot be undone, and is inherited.
type forker struct{ asks chan func(unfit error) }

func newStrictForker() *forker {
	f := &forker{make(chan func(error))}
	go func() {
		runtime.LockOSThread()
		unfit := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		for ask := range f.asks {
			ask(unfit)
		}
	}()
	return f
}

// fork starts a command, and waits until it has started.
func (f *forker) fork(path string, args []string, attr *syscall.ProcAttr) (pid int, err error) {
	done := make(chan struct{})
	f.asks <- func(unfit error) {
		defer close(done)
		if err = unfit; err == nil {
			pid, err = syscall.ForkExec(path, args, attr)
		}
	}
	<-done
	return pid, err
}
