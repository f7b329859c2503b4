package serverprocess

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errEnded means that the server ended before it answered, as it does when it
// cannot bind its port.
var errEnded = errors.New("the server ended before it answered")

// A process is a server that was started once, and what it printed.
type process struct {
	cmd  *exec.Cmd
	log  output
	gone chan struct{} // closed when the process was waited for
}

// launch starts a process and returns when the one that answers is this one. On an
// error nothing is left running.
func (s *Server) launch() error {
	p := &process{cmd: s.program.Command(s.port), gone: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	EndWithParent(p.cmd, cmp.Or(s.program.Orphaned, syscall.SIGKILL))
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(p.gone)
		_ = p.cmd.Wait() // how it ended is in its log
	}()
	s.proc = p
	if err := s.ready(); err != nil {
		s.Kill()
		return fmt.Errorf("%w; it printed:\n%s", err, s.Log())
	}
	return nil
}

// ready waits until the process answers.
func (s *Server) ready() error {
	deadline := time.After(s.program.Patience)
	for {
		select {
		case <-s.proc.gone:
			return errEnded
		case <-deadline:
			return fmt.Errorf("no answer on port %d within %v", s.port, s.program.Patience)
		case <-time.After(pause):
			if s.program.Answers(s) {
				return nil
			}
		}
	}
}

// terminate asks the process to end and reports whether it did.
func (p *process) terminate(program Program) bool {
	_ = p.cmd.Process.Signal(cmp.Or(program.End, syscall.SIGTERM)) // gone already is what we want
	select {
	case <-p.gone:
		return true
	case <-time.After(program.Patience):
		return false
	}
}

// signal sends a signal to the process and to those that it started: PostgreSQL
// has one per connection, and they would serve on for a moment.
func (p *process) signal(sig os.Signal) {
	select {
	case <-p.gone:
		return // its id may be another's
	default:
	}
	for _, pid := range p.family() {
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Signal(sig) // gone already is as good
		}
	}
}

// family are the process and those that it started.
func (p *process) family() []int {
	pid := p.cmd.Process.Pid
	return append([]int{pid}, children(pid)...)
}

// moves reports whether a thread of the process, or of one that it started, may
// still run, as far as the system shows. One is stopped some time after the signal.
func (p *process) moves() bool {
	for _, pid := range p.family() {
		stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, path := range stats {
			if fields := statusOf(path); len(fields) > 0 && !strings.Contains("TtZX", fields[0]) {
				return true
			}
		}
	}
	return false
}

// statusOf is what a file of the system has: state, parent, ...; nothing of what
// has ended.
func statusOf(path string) []string {
	stat, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	// pid (name) state parent …; the name may have spaces and brackets
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// children are the processes whose parent is pid, as far as the system shows.
func children(pid int) (found []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		fields := statusOf(path)
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}
