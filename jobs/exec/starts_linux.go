package exec

import (
	"errors"
	"os"
	"slices"
	"syscall"
)

// handleWaiting handles a request about a command that waits for its start, or has ended.
func (w *warden) handleWaiting(r received) {
	i := slices.IndexFunc(w.starts, func(s received) bool { return s.ID == r.ID })
	switch {
	case i < 0:
	case r.Op == opExtend:
		w.starts[i].Term, w.starts[i].Kill = r.Term, r.Kill
	default:
		w.refuse(w.starts[i], &reply{ID: r.ID, Err: errEnded})
		w.starts = slices.Delete(w.starts, i, i+1)
	}
}

// errEnded is the reply to a command whose run ended before the command was started.
const errEnded = "the run ended before"

// startNext starts the command that has waited longest, unless its lease is about to end.
func (w *warden) startNext() {
	if len(w.starts) == 0 {
		return
	}
	r := w.starts[0]
	w.starts = slices.Delete(w.starts, 0, 1)
	if until := earlier(r.Term, r.Kill); until != 0 && bootTime() >= until {
		w.refuse(r, &reply{ID: r.ID, Lease: true})
		return
	}
	w.start(r)
}

// refuse replies to a request for a command that is not started.
func (w *warden) refuse(r received, answer *reply) {
	r.close()
	w.replies.add(answer)
}

func (w *warden) start(r received) {
	defer r.close()
	run := &wardenRun{request: r.request, began: bootTime()}
	pid, err := w.fork(r)
	if err != nil {
		w.replies.add(&reply{ID: r.ID, Err: err.Error()})
		return
	}
	run.pid = pid
	w.runs[r.ID] = run
	select {
	case w.forked <- struct{}{}:
	default:
	}
}

// fork starts the main process of a run, as the leader of a new session and group.
func (w *warden) fork(r received) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	in := null
	if r.Stdin && len(r.files) > 1 {
		in = r.files[1]
	}
	if len(r.files) == 0 {
		return 0, errors.New("no descriptor of the output came with the request")
	}
	out := r.files[0].Fd()
	for _, f := range r.files {
		if err := syscall.SetNonblock(int(f.Fd()), false); err != nil { // the node reads and writes its ends without blocking
			return 0, err
		}
	}
	attr := &syscall.ProcAttr{Dir: string(r.Dir), Env: toTexts(r.Env), Files: []uintptr{in.Fd(), out, out},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}}
	if r.Umask != nil {
		defer syscall.Umask(syscall.Umask(*r.Umask))
	}
	if u := r.User; u != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
		return w.strict.fork(string(r.Path), toTexts(r.Args), attr)
	}
	return syscall.ForkExec(string(r.Path), toTexts(r.Args), attr)
}
