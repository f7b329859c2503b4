// Package serverprocess runs the processes of real servers for tests.
//
// Each server listens on a free loopback port and is stopped by its process id
// when the test ends (on Linux also when the test process dies).
package serverprocess

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const (
	tries = 20 // with another port, if another process was faster to bind one
	pause = 10 * time.Millisecond
)

// A Program holds the differences between the servers.
type Program struct {
	Name     string         // for messages
	Patience time.Duration  // the time limit of its start, and of its end
	End      syscall.Signal // asks the server to end; zero: SIGTERM
	Orphaned syscall.Signal // sent to the server when the test process dies; zero: SIGKILL

	// Prepare, if not nil, writes the files of a server that will use this port.
	Prepare func(port int) error
	// Command returns the command that runs the server on this port, in the foreground.
	Command func(port int) *exec.Cmd
	// Answers reports whether the server serves, and is not another server that was faster to bind
	// the port.
	Answers func(*Server) bool
}

// A Server is a running server. Addr and Port may be called from any goroutine,
// the other methods only from the test's own.
type Server struct {
	t       testing.TB
	program Program
	dir     string
	port    int
	proc    *process
}

// Start starts a server with its files in dir, and returns when it answers. The server ends with
// the test. Many tests and packages may call Start at once.
func Start(t testing.TB, dir string, p Program) *Server {
	t.Helper()
	s, err := Lasting(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(s.Kill)
	return s
}

// Lasting is Start for a server that many tests share: the caller kills it, and no test may stop or
// restart it. After an error no process is left running.
func Lasting(dir string, p Program) (*Server, error) {
	s := &Server{program: p, dir: dir}
	var err error
	for range tries {
		s.port = FreePort()
		if p.Prepare != nil {
			if err = p.Prepare(s.port); err != nil {
				break
			}
		}
		if err = s.launch(); err == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("serverprocess: start %s: %w", p.Name, err)
}

// Addr returns the server's host:port. Restart does not change it.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Port returns the server's port.
func (s *Server) Port() int { return s.port }

// Dir returns the folder with the server's files.
func (s *Server) Dir() string { return s.dir }

// Pid returns the process id of the running server, or of the last one that ran.
func (s *Server) Pid() int { return s.proc.cmd.Process.Pid }

// Runs reports whether the server has not ended.
func (s *Server) Runs() bool { return !s.proc.ended() }

// Log returns the output of the running server so far.
func (s *Server) Log() string { return s.proc.log.String() }

// Stop ends the server as an operator would, with its clients connected, and waits until it has
// ended. It continues a frozen server first, which could not end otherwise. A server that has
// already ended is not an error.
func (s *Server) Stop() {
	s.t.Helper()
	s.Thaw()
	if !s.proc.terminate(s.program) {
		s.t.Fatalf("serverprocess: %s: pid %d still runs %v after the signal to end", s.program.Name, s.Pid(), s.program.Patience)
	}
}

// Kill ends the server, and the processes that it started, as a crash would (SIGKILL), and waits
// until it has ended.
func (s *Server) Kill() { s.proc.kill(s.program.Patience) }

// Freeze stops the server and all processes that it started (SIGSTOP), and waits until they stand
// still: the connections stay open and the server does not answer. Thaw lets it continue.
func (s *Server) Freeze() {
	if !s.proc.freeze(s.program.Patience) {
		s.t.Helper()
		s.t.Errorf("serverprocess: %s: a process of pid %d still runs %v after the signal to stop", s.program.Name, s.Pid(), s.program.Patience)
	}
}

// Thaw continues a frozen server (SIGCONT).
func (s *Server) Thaw() { s.proc.signal(thaw) }

// Restart stops the server if it runs and starts it again on the same port, with the files that it
// left.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	var err error
	for range tries {
		if err = s.launch(); err == nil {
			return
		}
		<-time.After(pause)
	}
	s.t.Fatalf("serverprocess: restart %s on %s: %v", s.program.Name, s.Addr(), err)
}
