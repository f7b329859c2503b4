package exec

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// wardenFD is the descriptor of the warden's end of the socket.
const wardenFD = 3

// lastKills is how long a warden whose node is gone continues to kill the remaining processes.
const lastKills = 2 * time.Second

// lastReplies is how long a warden waits at its end until the node has its replies.
const lastReplies = time.Second

// Warden serves the node that started this process with [Config.Warden], until the node is gone,
// and then kills the remaining commands. It is the only work of its process: call it from main, and
// exit with a code that depends on the error. It is useless without a Runner.
func Warden() error {
	runtime.LockOSThread() // commands die with the thread that started them, so it must never end
	conn, err := wardenConn()
	if err != nil {
		return err
	}
	closeOnExec()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("exec: becoming the reaper of commands: %w", err)
	}
	alarm, err := newAlarm()
	if err != nil {
		return err
	}
	// A signal to the group or the control group of the node is meant for the node, which ends the
	// commands in its own way. The warden catches such signals, because its children would inherit
	// ignored ones.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	queue, err := newRequestQueue(conn)
	if err != nil {
		return err
	}
	w := &warden{
		requestQueue: queue, alarm: alarm, strict: newStrictForker(),
		exits: make(chan exit, 1024), forked: make(chan struct{}, 1),
		runs: map[uint64]*wardenRun{}, owners: map[int]*wardenRun{}, replies: newReplies(conn),
	}
	go w.read()
	go w.reap()
	go w.replies.write()
	w.serve()
	w.killAll()
	w.replies.flush(lastReplies)
	return nil
}

func wardenConn() (*net.UnixConn, error) {
	f := os.NewFile(wardenFD, "node")
	c, err := net.FileConn(f)
	_ = f.Close()
	conn, ok := c.(*net.UnixConn)
	if err != nil || !ok {
		return nil, errors.New("exec: the warden is started by a node, not by hand: descriptor 3 is no socket")
	}
	return conn, nil
}

// closeOnExec keeps commands from getting descriptors that this process inherited. Go marks its
// own.
func closeOnExec() {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// A warden starts, kills and reaps the commands of one node. All its work is done by one goroutine,
// except for reading requests and waiting for processes.
type warden struct {
	requestQueue
	alarm   *alarm
	strict  *forker
	gone    bool
	starts  []received // wait for their turn
	exits   chan exit
	forked  chan struct{} // wakes the reaper when it has no child to wait for
	runs    map[uint64]*wardenRun
	owners  map[int]*wardenRun // by the pid of a process that was seen to belong to a run, until it is reaped
	replies *replies
	stray   bool // a stray has ended: its children are strays now
}

// An exit is a process that was reaped.
type exit struct {
	pid    int
	status syscall.WaitStatus
}

// A wardenRun is a command that was started and has processes.
type wardenRun struct {
	request
	pid     int    // of the main process, its session and its group
	began   int64  // ns of CLOCK_BOOTTIME
	stop    int64  // when it gets SIGKILL regardless of its lease; 0: it continues
	expired bool   // the warden ended it because its lease was about to end
	reply   *reply // the reply about the main process, once it has ended
	over    int64  // since when all of its processes must end; 0: they need not
}

// reap waits for all children: the started commands, and processes whose parents died.
func (w *warden) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.ECHILD:
			<-w.forked
		case pid > 0:
			w.exits <- exit{pid, status}
		}
	}
}

// serve handles events until the node is gone.
func (w *warden) serve() {
	for !w.gone {
		w.alarm.set(w.next(bootTime()))
		if len(w.starts) == 0 {
			w.wait()
		}
		now := bootTime() // before drain: the warden may be stopped after it, while renewals arrive
		w.drain()
		w.act(now)
		w.startNext()
	}
	for _, r := range w.starts {
		w.refuse(r, &reply{ID: r.ID, Err: errEnded})
	}
}

// wait handles the next event.
func (w *warden) wait() {
	select {
	case r, ok := <-w.requests:
		w.take(r, ok)
	case e := <-w.exits:
		w.exited(e)
	case <-w.alarm.rang:
	}
}

// drain handles all that has arrived, also requests that the reader has not passed on yet, as after a stop of the warden: one search
// suffices for the processes that were reaped, and no renewal waits for the start or the search of another run. It starts nothing.
func (w *warden) drain() {
	for !w.gone {
		select {
		case r, ok := <-w.requests:
			w.take(r, ok)
		case e := <-w.exits:
			w.exited(e)
		default:
			if !w.behind() {
				return
			}
			time.Sleep(time.Microsecond) // the reader is woken by the network poller, for which a yield leaves no time
		}
	}
}

func (w *warden) take(r received, ok bool) {
	switch {
	case !ok:
		w.gone = true
	case r.Op == opStart:
		w.starts = append(w.starts, r)
	case w.runs[r.ID] != nil:
		w.handle(w.runs[r.ID], r)
	default:
		w.handleWaiting(r)
	}
}

func (w *warden) handle(run *wardenRun, r received) {
	switch r.Op {
	case opExtend:
		run.Term, run.Kill = r.Term, r.Kill
	case opStop:
		run.stop = earlier(run.stop, r.Kill)
		run.terminate()
	case opKill:
		run.stop = 1 // a time long ago
	}
}

func (w *warden) exited(e exit) {
	delete(w.owners, e.pid)
	for _, run := range w.runs {
		if run.pid == e.pid && run.reply == nil {
			run.reply = &reply{ID: run.ID, Code: e.status.ExitStatus(), Lease: run.expired}
			if e.status.Signaled() {
				run.reply.Code, run.reply.Signal = 0, int(e.status.Signal())
			}
			return
		}
	}
	w.stray = true
}

// act ends the runs whose time has come, and reports the runs that are over.
func (w *warden) act(now int64) {
	scan := w.stray
	w.stray = false
	w.signal(now)
	for id, run := range w.runs {
		if run.over == 0 {
			continue
		}
		// A run is over when it has no process left.
		if w.sweep(run) && run.reply != nil {
			delete(w.runs, id)
			w.replies.add(run.reply)
			scan = true
		}
		// A search reads all processes of the machine. No lease that ends meanwhile waits for the next one.
		now = max(now, bootTime())
		w.drain()
		w.signal(now)
	}
	if scan {
		w.killStrays()
	}
}

// signal ends the main processes and the groups of the runs whose time has come.
func (w *warden) signal(now int64) {
	for _, run := range w.runs {
		switch {
		case run.over != 0:
		case run.reply != nil || run.killAt() != 0 && now >= run.killAt():
			run.over = now
			// Both times of a lease may have passed at once, as after a suspension.
			run.expired = run.expired || run.reply == nil && run.stop == 0 && !run.ended()
			run.kill()
		case run.Term != 0 && now >= run.Term && run.stop == 0:
			// From now on, a renewal that succeeds keeps other nodes out until the run is over. It
			// does not revive a run that has begun to end.
			run.expired, run.stop = !run.ended(), run.Kill
			run.terminate()
		}
	}
}

// next returns when act must be called again; 0: only after another event.
func (w *warden) next(now int64) (at int64) {
	for _, run := range w.runs {
		due := run.killAt()
		if run.stop == 0 {
			due = earlier(due, run.Term)
		}
		if run.over != 0 { // the killed processes are not gone yet, and may be in a system call that cannot be interrupted
			due = now + min(max((now-run.over)/4, int64(sweepEvery)), int64(time.Second))
		}
		at = earlier(at, due)
	}
	return at
}

// earlier returns the earlier of two times; 0 is no time.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// killAt returns when the run gets SIGKILL; 0: never.
func (r *wardenRun) killAt() int64 { return earlier(r.Kill, r.stop) }

// terminate sends SIGTERM to the group, and SIGCONT, so that a stopped process gets it.
func (r *wardenRun) terminate() {
	_ = syscall.Kill(-r.pid, syscall.SIGTERM)
	_ = syscall.Kill(-r.pid, syscall.SIGCONT)
}

// ended reports whether the main process has ended, also if the reaper has not reported it yet, as after a stop of the warden.
func (r *wardenRun) ended() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, r.pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}

func (r *wardenRun) kill() { _ = syscall.Kill(-r.pid, syscall.SIGKILL) }

// killAll kills all processes of all commands. All are descendants of the warden, and the children
// of a process that dies become children of the warden. So when the warden has no child, none is
// left.
func (w *warden) killAll() {
	for end := bootTime() + int64(lastKills); bootTime() < end; {
		for _, run := range w.runs {
			if run.reply == nil {
				run.kill()
			}
		}
		left := children()
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(left) == 0 {
			w.end()
			return
		}
		w.alarm.set(bootTime() + int64(sweepEvery))
		select {
		case e := <-w.exits:
			w.exited(e)
		case <-w.alarm.rang:
		}
	}
}

// end replies to all remaining runs, which have no process any more.
func (w *warden) end() {
	for _, run := range w.runs {
		if run.reply == nil {
			run.reply = &reply{ID: run.ID, Signal: int(syscall.SIGKILL)}
		}
		w.replies.add(run.reply)
	}
}
