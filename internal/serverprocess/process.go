package serverprocess

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errEnded means that the server ended before it answered, for example because it could not bind
// its port.
var errEnded = errors.New("the server ended before it answered")

// A process is one start of a server, with its output.
type process struct {
	cmd  *exec.Cmd
	log  Output
	gone chan struct{} // closed when the process has ended
}

// launch starts a process and returns when this process answers on the port. After an error no
// process is left running.
func (s *Server) launch() error {
	p := &process{cmd: s.program.Command(s.port), gone: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	EndWithParent(p.cmd, cmp.Or(s.program.Orphaned, syscall.SIGKILL))
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(p.gone)
		_ = p.cmd.Wait() // its log shows how it ended
	}()
	s.proc = p
	if err := s.ready(); err != nil {
		p.kill(s.program.Patience)
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
	_ = p.cmd.Process.Signal(cmp.Or(program.End, syscall.SIGTERM)) // an error means that it has already ended
	select {
	case <-p.gone:
		return true
	case <-time.After(program.Patience):
		return false
	}
}

// signal sends a signal to the process and to the processes that it started: PostgreSQL has one for
// each connection, which would serve on for a moment.
func (p *process) signal(sig os.Signal) {
	if p.ended() {
		return // the process id may belong to another process
	}
	for _, pid := range append([]int{p.cmd.Process.Pid}, children(p.cmd.Process.Pid)...) {
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Signal(sig) // an error means that it has already ended
		}
	}
}

// freeze stops the process and those that it started, and reports whether they stand still. A
// process that was started after the list of processes was read gets its signal in a later round.
func (p *process) freeze(patience time.Duration) bool {
	give := time.Now().Add(patience)
	for p.signal(freeze); p.moves(); p.signal(freeze) {
		if time.Now().After(give) {
			return false
		}
		<-time.After(time.Millisecond)
	}
	return true
}

// kill ends the process and those that it started, and waits until it has ended. They are frozen
// first: a process that was started in between would live on.
func (p *process) kill(patience time.Duration) {
	p.freeze(patience)
	p.signal(syscall.SIGKILL)
	<-p.gone
}

func (p *process) ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// moves reports whether a thread of the process, or of a process that it started, may still run, as
// far as the system reports. A thread stops some time after the signal. The process is read before
// the list of those that it started: once it stands still, it starts no more.
func (p *process) moves() bool {
	pid := p.cmd.Process.Pid
	return !p.ended() && (runs(pid) || slices.ContainsFunc(children(pid), runs))
}

// runs reports whether a thread of a process may run.
func runs(pid int) bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return slices.ContainsFunc(stats, func(path string) bool {
		fields := statusOf(path)
		return len(fields) > 0 && !strings.Contains("TtZX", fields[0])
	})
}

// statusOf returns the fields of a stat file of the system: state, parent, ... It returns nil if
// the process has ended.
func statusOf(path string) []string {
	stat, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	// pid (name) state parent …; the name may have spaces and brackets
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// children returns the processes whose parent is pid, as far as the system reports.
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
