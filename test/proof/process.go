package proof

import (
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Process is a node that was started. Its methods may be used concurrently.
type Process struct {
	Node Node
	Pid  int

	cmd  *exec.Cmd
	gone chan struct{}
	err  error // the result of the process; read after gone is closed

	mu     sync.Mutex
	faults []Fault
}

// A Fault is a fault that the scenario caused in a process.
type Fault struct {
	Kind FaultKind
	Pid  int
	From time.Time // just before the signal was sent
	To   time.Time // of a pause: the time of its end; zero: it has not ended
}

// A FaultKind is a kind of fault.
type FaultKind string

// The kinds of faults.
const (
	Killed     FaultKind = "killed"
	Paused     FaultKind = "paused"
	Terminated FaultKind = "terminated" // requested to drain
)

// launch starts a command in its own process group. The process ends with the test, however the test
// ends.
func launch(t testing.TB, cmd *exec.Cmd, n Node, arrived func(Line)) *Process {
	t.Helper()
	p := &Process{Node: n, cmd: cmd, gone: make(chan struct{})}
	known := make(chan struct{})
	out := &lineWriter{emit: func(text []byte) {
		<-known
		arrived(ParseLine(p.Pid, text, time.Now()))
	}}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = isolated()
	if err := cmd.Start(); err != nil {
		t.Fatalf("proof: start %s: %v", n.Name, err)
	}
	p.Pid = cmd.Process.Pid
	close(known)
	go func() {
		defer close(p.gone)
		p.err = cmd.Wait()
	}()
	t.Cleanup(p.destroy)
	return p
}

// destroy kills the process and records no fault.
func (p *Process) destroy() {
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
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now()
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	p.faults[len(p.faults)-1].To = at
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
