// Package redisserver starts real redis-server processes for tests.
//
// Each server listens on a free loopback port, keeps its files in the test's
// own folder, persists nothing unless its arguments say so, and is stopped by
// its process id when the test ends (on Linux also when the test process dies).
package redisserver

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Require is the environment variable that, set to 1, makes a missing
// redis-server a failure instead of a skipped test.
const Require = "CRONCE_REQUIRE_SERVERS"

const (
	program  = "redis-server"
	patience = 20 * time.Second // a loaded machine starts slowly
	tries    = 20               // other ports, when somebody was faster to bind one
)

// A Server is a running redis-server. Addr and Port may be called from any
// goroutine, the other methods only from the test's own.
type Server struct {
	t    testing.TB
	dir  string
	port int
	args []string
	proc *process

	conf string // of a Sentinel; empty: not one
}

// Start starts a redis-server with the given arguments ("--appendonly", "yes")
// behind its own, and returns when it answers. Many tests and packages may do so
// at once. Where redis-server is not installed the test is skipped, or fails if
// CRONCE_REQUIRE_SERVERS is 1.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	path := find(t)
	s := &Server{t: t, dir: t.TempDir(), args: slices.Clone(args)}
	t.Cleanup(s.Kill)
	var err error
	for range tries {
		s.port = freePort()
		if s.proc, err = s.launch(path); err == nil {
			return s
		}
	}
	t.Fatalf("redisserver: start %s: %v", program, err)
	return nil
}

// Addr is the server's host:port. It stays the same over Restart.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Port is the server's port.
func (s *Server) Port() int { return s.port }

// Dir is the folder with the server's files.
func (s *Server) Dir() string { return s.dir }

// Pid is the process id of the server that runs, or of the last one that ran.
func (s *Server) Pid() int { return s.proc.pid() }

// Log is what the running server has printed so far.
func (s *Server) Log() string { return s.proc.log.String() }

// Stop ends the server as an operator would (SIGTERM) and waits until it is
// gone. A server that is gone already is no error.
func (s *Server) Stop() {
	s.t.Helper()
	if !s.proc.terminate() {
		s.t.Fatalf("redisserver: pid %d still runs %v after SIGTERM", s.proc.pid(), patience)
	}
}

// Kill ends the server as a crash would (SIGKILL) and waits until it is gone.
func (s *Server) Kill() {
	if s.proc != nil {
		s.proc.kill()
	}
}

// Restart stops the server if it runs and starts it again on the same port,
// with the files it left: without persistence it comes back empty.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	var err error
	for range tries {
		if s.proc, err = s.launch(find(s.t)); err == nil {
			return
		}
		<-time.After(pause)
	}
	s.t.Fatalf("redisserver: restart on %s: %v", s.Addr(), err)
}

func (s *Server) launch(path string) (*process, error) {
	if s.conf != "" {
		return launch(path, s.port, []string{s.conf, "--sentinel"})
	}
	return start(path, s.dir, s.port, s.args)
}

func find(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv(Require) == "1":
		t.Fatalf("%s is not installed and %s=1 asks for it (Debian: apt-get install redis-server)", program, Require)
	default:
		t.Skipf("%s is not installed (Debian: apt-get install redis-server)", program)
	}
	return path
}
