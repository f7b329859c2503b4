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
	err  error // how it ended; read after gone is closed

	mu     sync.Mutex
	faults []Fault
}

// A Fault is what the scenario did to a process.
type Fault struct {
	Kind FaultKind
	Pid  int
	From time.Time // right before the signal was sent
	To   time.Time // of a pause: when it was continued; zero: never
}

// FaultKind is the kind of a fault.
type FaultKind string

// The kinds of faults.
const (
	Killed     FaultKind = "killed"
	Paused     FaultKind = "paused"
	Terminated FaultKind = "terminated" // asked to drain
)

// launch starts a command in a process group of its own. The process is gone when
// the test is, however that ends.
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

// destroy ends the process without a trace in the faults.
func (p *Process) destroy() {
	_ = p.cmd.Process.Kill() // ends a stopped process too; gone already is what we want
	<-p.gone
}

// Alive reports whether the process has not ended.
func (p *Process) Alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// Kill ends the process as a crash would, and waits until it is gone.
func (p *Process) Kill() time.Time {
	at := p.note(Killed)
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.gone
	return at
}

// Pause stops the process where it is.
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

// Terminate asks the process to drain and end.
func (p *Process) Terminate() time.Time {
	at := p.note(Terminated)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return at
}

// Wait returns how the process ended, or an error if it has not within limit.
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

// Faults returns what was done to the process.
func (p *Process) Faults() []Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Fault(nil), p.faults...)
}
