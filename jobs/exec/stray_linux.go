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

// sweep kills what is left of a run whose main process has ended, or must end, and reports whether
// nothing was left. A process of the run that nobody waits for is a child of the warden, also if it
// has a session of its own. Its children become the warden's when it is dead, and are found next.
func (w *warden) sweep(run *wardenRun) (empty bool) {
	empty = syscall.Kill(-run.pid, syscall.SIGKILL) == syscall.ESRCH
	for _, pid := range w.strays() {
		p, ok := readProcess(pid)
		if ok && p.of(run) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if !ok || p.of(run) { // one that died just now may have left children, which this list lacks
			empty = false
		}
	}
	return empty
}

// killStrays kills children that belong to no run that is known to be alive. A process can leave
// its session and clear its environment. Then only the time when it began says from which runs it
// may be: it is killed when all runs that were alive at that time are over.
func (w *warden) killStrays() {
	for _, pid := range w.strays() {
		p, ok := readProcess(pid)
		if !ok {
			continue
		}
		known := false
		for _, run := range w.runs {
			known = known || p.of(run) || run.began <= p.began
		}
		if !known {
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

// children returns the pids of all children of this process, whichever of its threads they belong to.
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

// A process is what /proc has about one.
type process struct {
	pid, parent, group, session int
	began                       int64 // ns of CLOCK_BOOTTIME, rounded up to the end of a clock tick
}

// clockTick is the unit of times in /proc: USER_HZ is 100 on all platforms that Go supports.
const clockTick = 10 * time.Millisecond

// readProcess reads /proc/pid/stat: see proc_pid_stat(5). A zombie is none: it does nothing any more.
func readProcess(pid int) (p process, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, found := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(") ")) // a name may hold spaces and brackets
	f := strings.Fields(string(rest))
	if err != nil || !found || len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return p, false
	}
	p.pid = pid
	p.parent, _ = strconv.Atoi(f[1])
	p.group, _ = strconv.Atoi(f[2])
	p.session, _ = strconv.Atoi(f[3])
	ticks, _ := strconv.ParseInt(f[19], 10, 64)
	p.began = (ticks + 1) * int64(clockTick)
	return p, true
}

// of reports whether a process is known to be of a run: by its session, its group, or the run's id
// in its environment.
func (p process) of(run *wardenRun) bool {
	return p.session == run.pid || p.group == run.pid || p.carries(run.RunID)
}

// carries reports whether the process was started with this run id in its environment.
func (p process) carries(runID string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
	want := RunIDEnv + "=" + runID
	return err == nil && (bytes.HasPrefix(env, []byte(want+"\x00")) || bytes.Contains(env, []byte("\x00"+want+"\x00")))
}
