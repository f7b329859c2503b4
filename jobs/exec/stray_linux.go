package exec

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sweepEvery is how long the warden waits for processes that it killed before it searches for more.
const sweepEvery = 5 * time.Millisecond

// sweep kills the remaining processes of a run whose main process has ended or must end, and
// reports whether there were none. A process of the run whose parent has died is a child of the
// warden, even in a session of its own. When it is dead, its children become the warden's and are
// found next.
func (w *warden) sweep(run *wardenRun) (empty bool) {
	group := syscall.Kill(-run.pid, syscall.SIGKILL) != syscall.ESRCH
	dead := map[int]bool{}
	for again := true; again; {
		again, empty = false, true
		for _, pid := range w.strays() {
			p, ok := readProcess(pid)
			switch {
			case !ok:
				again = again || !dead[pid] // its children appeared after this list was made
				dead[pid] = true
			case w.owner(p) == run:
				_ = syscall.Kill(pid, syscall.SIGKILL)
				empty = false
			case p.dying && w.owners[pid] == nil && p.began >= run.began:
				empty = false // it has no environment any more, and ends by itself
			}
		}
	}
	// A member of the group may be below a process that is not known to belong to the run.
	return empty && (!group || !groupAlive(run.pid))
}

// groupAlive reports whether a group has a member that is not a zombie.
func groupAlive(group int) bool {
	for _, pid := range allProcesses() {
		if p, ok := readProcess(pid); ok && p.group == group {
			return true
		}
	}
	return false
}

// owner returns the run to which a child of the warden belongs, or nil if that is not known.
func (w *warden) owner(p process) *wardenRun {
	if run := w.owners[p.pid]; run != nil {
		return run
	}
	for _, run := range w.runs {
		if p.of(run) {
			w.owners[p.pid] = run
			return run
		}
	}
	return nil
}

// killStrays kills children that belong to no live run. A process can leave its session and clear
// its environment. Then only its start time limits the runs to which it may belong: it is killed
// when all runs that were alive at that time are over.
func (w *warden) killStrays() {
	for _, pid := range w.strays() {
		p, ok := readProcess(pid)
		if !ok {
			continue
		}
		owner := w.owner(p)
		alive := owner != nil && w.runs[owner.ID] == owner
		if owner == nil && !p.named() {
			for _, run := range w.runs {
				alive = alive || run.over == 0 && run.began <= p.began
			}
		}
		if !alive {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// strays returns the children of the warden that are not the main process of a run.
func (w *warden) strays() (pids []int) {
	main := make(map[int]bool, len(w.runs))
	for _, run := range w.runs {
		main[run.pid] = run.reply == nil
	}
	for _, pid := range children() {
		if !main[pid] {
			pids = append(pids, pid)
		}
	}
	return pids
}

// children returns the pids of all children of this process, of all of its threads.
func children() (pids []int) {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		text, err := os.ReadFile("/proc/self/task/" + thread.Name() + "/children")
		if err != nil && thread.Name() == strconv.Itoa(os.Getpid()) { // a kernel without CONFIG_PROC_CHILDREN
			return childrenByParent()
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func childrenByParent() (pids []int) {
	self := os.Getpid()
	for _, pid := range allProcesses() {
		if p, ok := readProcess(pid); ok && p.parent == self {
			pids = append(pids, pid)
		}
	}
	return pids
}

func allProcesses() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A process has the fields of a process in /proc.
type process struct {
	pid, parent, group, session int
	began                       int64 // ns of CLOCK_BOOTTIME, rounded up to the end of a clock tick
	dying                       bool  // it has no memory any more, and is no zombie yet
}

// clockTick is the unit of times in /proc: USER_HZ is 100 on all platforms that Go supports.
const clockTick = 10 * time.Millisecond

// readProcess reads /proc/pid/stat: see proc_pid_stat(5). It returns false for a zombie, which does
// nothing any more, except for a main thread that ended before other threads of its process.
func readProcess(pid int) (p process, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, found := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(") ")) // a name may hold spaces and brackets
	f := strings.Fields(string(rest))
	if err != nil || !found || len(f) < 21 || f[0] == "X" || f[0] == "Z" && (f[17] == "0" || f[17] == "1") {
		return p, false
	}
	p.pid = pid
	p.parent, _ = strconv.Atoi(f[1])
	p.group, _ = strconv.Atoi(f[2])
	p.session, _ = strconv.Atoi(f[3])
	ticks, _ := strconv.ParseInt(f[19], 10, 64)
	p.began = (ticks + 1) * int64(clockTick)
	p.dying = f[20] == "0" && f[0] != "Z"
	return p, true
}

// of reports whether a process is known to belong to a run: by its session, its group, or the run
// id in its environment.
func (p process) of(run *wardenRun) bool {
	return p.session == run.pid || p.group == run.pid || p.carries(run.RunID)
}

// carries reports whether the process was started with this run id in its environment.
func (p process) carries(runID string) bool { return p.has(RunIDEnv + "=" + runID + "\x00") }

// named reports whether the process was started with any run id in its environment.
func (p process) named() bool { return p.has(RunIDEnv + "=") }

// has reports whether a variable of the process begins with a text.
func (p process) has(text string) bool {
	env := p.environment()
	return bytes.HasPrefix(env, []byte(text)) || bytes.Contains(env, []byte("\x00"+text))
}

// environment returns the environment with which a process was started, read through one of its
// threads.
func (p process) environment() []byte {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
	if len(env) > 0 {
		return env
	}
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid))
	for _, thread := range threads {
		if env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/environ", p.pid, thread.Name())); len(env) > 0 {
			return env
		}
	}
	return nil
}
