package proof

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
)

// A Process is a node that was started. Its methods may be used concurrently.
type Process struct {
	Node Node
	Pid  int

	cmd  *exec.Cmd
	gone chan struct{}
	err  error // the result of the process; read after gone is closed

	way way // to the servers of the store; empty: no proxy is between

	mu     sync.Mutex
	faults []Fault
	hung   chan struct{} // closed when its log is read again; nil: it is read
}

// A Fault is a fault that the scenario caused in a process.
type Fault struct {
	Kind FaultKind
	Pid  int
	From time.Time // just before it began
	To   time.Time // its end; zero: it has not ended, or has no end
}

// A FaultKind is a kind of fault.
type FaultKind string

// The kinds of faults.
const (
	Killed     FaultKind = "killed"
	Paused     FaultKind = "paused"
	Terminated FaultKind = "terminated" // requested to drain
	CutOff     FaultKind = "cut off"    // its requests and their replies are held
	Slowed     FaultKind = "slowed"     // its requests and their replies come late
	LogHung    FaultKind = "log hung"   // its log is not read
)

// launch starts a command in its own process group. The process ends with the test, however the test
// ends.
func launch(t testing.TB, cmd *exec.Cmd, n Node, arrived func(Line)) *Process {
	t.Helper()
	p := &Process{Node: n, cmd: cmd, gone: make(chan struct{})}
	known := make(chan struct{})
	out := &lineWriter{emit: func(text []byte) {
		<-known
		p.awaitReader()
		arrived(ParseLine(p.Pid, text, time.Now()))
	}}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatalf("proof: start %s: %v", n.Name, err)
	}
	shorten(write)
	cmd.Stdout, cmd.Stderr = write, write
	cmd.SysProcAttr = isolated()
	err = cmd.Start()
	_ = write.Close() // the process has its own
	if err != nil {
		_ = read.Close()
		t.Fatalf("proof: start %s: %v", n.Name, err)
	}
	p.Pid = cmd.Process.Pid
	close(known)
	go func() {
		defer close(p.gone)
		defer read.Close()
		_, _ = io.Copy(out, read) // until the process and its children are gone
		p.err = cmd.Wait()
	}()
	t.Cleanup(p.destroy)
	return p
}

// destroy kills the process and records no fault.
func (p *Process) destroy() {
	p.end()
	_ = p.cmd.Process.Kill() // also ends a stopped process; an error means that it is gone already
	<-p.gone
}

// Alive reports whether the process is running.
func (p *Process) Alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// Kill kills the process as a crash would, and waits until it is gone.
func (p *Process) Kill() time.Time {
	p.end() // a log that is not read would keep it from being gone
	at := p.note(Killed)
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.gone
	return at
}

// Pause stops the process with SIGSTOP.
func (p *Process) Pause() time.Time {
	at := p.note(Paused)
	_ = p.cmd.Process.Signal(syscall.SIGSTOP)
	return at
}

// Continue ends a pause.
func (p *Process) Continue() time.Time {
	at := p.end() // before the process writes again
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	return at
}

// CutOff holds all requests of the process and all replies to it, in both directions, until Mend. It reports false if no proxy is
// between the process and the store.
func (p *Process) CutOff() bool { return p.spoil(CutOff, rig.Faults{Hole: true}) }

// Slow delays each request of the process and each reply to it by d, until Mend. It reports false like CutOff.
func (p *Process) Slow(d time.Duration) bool {
	return p.spoil(Slowed, rig.Faults{Delay: 1, DelayFor: d})
}

func (p *Process) spoil(k FaultKind, f rig.Faults) bool {
	if len(p.way) > 0 {
		p.note(k)
		p.way.set(f)
	}
	return len(p.way) > 0
}

// Mend ends CutOff and Slow. Requests and replies that were held are forwarded then.
func (p *Process) Mend() {
	p.way.set(rig.Faults{})
	p.end()
}

// HangLog stops reading the log of the process, whose pipe has room for some lines, until ReadLog.
func (p *Process) HangLog() {
	p.note(LogHung)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hung == nil {
		p.hung = make(chan struct{})
	}
}

// ReadLog reads the log again.
func (p *Process) ReadLog() { p.end() }

// awaitReader returns when the log is read.
func (p *Process) awaitReader() {
	p.mu.Lock()
	hung := p.hung
	p.mu.Unlock()
	if hung != nil {
		<-hung
	}
}

// end records that the latest fault has ended, and reads the log.
func (p *Process) end() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hung != nil {
		close(p.hung)
		p.hung = nil
	}
	at := time.Now()
	if n := len(p.faults); n > 0 && p.faults[n-1].To.IsZero() {
		p.faults[n-1].To = at
	}
	return at
}

// Terminate requests the process to drain and end.
func (p *Process) Terminate() time.Time {
	at := p.note(Terminated)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return at
}

// Wait waits for the end of the process for up to limit. It returns the error with which the
// process ended, or an error if it is still running.
func (p *Process) Wait(limit time.Duration) error {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-p.gone:
	case <-t.C:
	}
	if !p.Alive() {
		return p.err
	}
	return fmt.Errorf("proof: %s (pid %d) still runs after %v", p.Node.Name, p.Pid, limit)
}

func (p *Process) note(k FaultKind) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	p.faults = append(p.faults, Fault{Kind: k, Pid: p.Pid, From: at})
	return at
}

// Faults returns the faults of the process.
func (p *Process) Faults() []Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Fault(nil), p.faults...)
}
