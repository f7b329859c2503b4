// Package zkserver starts real ZooKeeper servers for tests.
//
// Each server stands alone, listens on a free loopback port, keeps its files in
// the test's own folder, and is stopped by its process id when the test ends (on
// Linux also when the test process dies). Its tick is 200 ms, so that sessions
// of 400 ms and more are allowed, and it does not force its log to the disk: it
// keeps what it acknowledged over the end of its process, not of the machine.
package zkserver

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
)

// Require is the environment variable that, set to 1, makes a missing ZooKeeper
// a failure instead of a skipped test.
const Require = redisserver.Require

// Tick is the unit of the server's times. The shortest session has two.
const Tick = 200 * time.Millisecond

const (
	program  = "java"
	jar      = "/usr/share/java/zookeeper.jar" // names its dependencies
	packages = "Debian: apt-get install default-jre-headless zookeeper"
	patience = 60 * time.Second // a loaded machine starts slowly
	tries    = 20               // other ports, when somebody was faster to bind one
)

// A Server is a running ZooKeeper. Addr and Port may be called from any
// goroutine, the other methods only from the test's own.
type Server struct {
	t        testing.TB
	dir      string
	port     int
	settings []string
	proc     *process
}

// Start starts a ZooKeeper with the given lines of zoo.cfg ("tickTime=100")
// behind its own, and returns when it answers. Many tests and packages may do so
// at once. Where Java or ZooKeeper is not installed the test is skipped, or fails
// if CRONCE_REQUIRE_SERVERS is 1.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	java := find(t, jar)
	s := &Server{t: t, dir: t.TempDir(), settings: slices.Clone(settings)}
	t.Cleanup(s.Kill)
	var err error
	for range tries {
		s.port = freePort()
		if s.proc, err = start(java, s.dir, s.port, s.settings); err == nil {
			return s
		}
	}
	t.Fatalf("zkserver: start ZooKeeper: %v", err)
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

// Ask sends one of the server's four-letter words and returns the answer.
func (s *Server) Ask(word string) string {
	s.t.Helper()
	answer, err := ask(s.port, word, 10*time.Second)
	if err != nil {
		s.t.Fatalf("zkserver: %s: %v", word, err)
	}
	return answer
}

// Stop ends the server as an operator would (SIGTERM) and waits until it is
// gone. A server that is gone already is no error.
func (s *Server) Stop() {
	s.t.Helper()
	if !s.proc.terminate() {
		s.t.Fatalf("zkserver: pid %d still runs %v after SIGTERM", s.proc.pid(), patience)
	}
}

// Kill ends the server as a crash would (SIGKILL) and waits until it is gone.
func (s *Server) Kill() {
	if s.proc != nil {
		s.proc.kill()
	}
}

// Freeze stops the process (SIGSTOP): its connections stay open and nothing
// answers. Thaw lets it go on.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw continues a frozen server (SIGCONT).
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.proc.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("zkserver: %v to pid %d: %v", sig, s.proc.pid(), err)
	}
}

// Restart stops the server if it runs and starts it again on the same port,
// with the files it left: sessions live on if their clients come back in time.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	java := find(s.t, jar)
	var err error
	for range tries {
		if s.proc, err = start(java, s.dir, s.port, s.settings); err == nil {
			return
		}
		<-time.After(pause)
	}
	s.t.Fatalf("zkserver: restart on %s: %v", s.Addr(), err)
}

// find returns the path of Java, and makes sure of ZooKeeper.
func find(t testing.TB, jar string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	missing := program
	if err == nil {
		_, err = os.Stat(jar)
		missing = jar
	}
	switch {
	case err == nil:
	case os.Getenv(Require) == "1":
		t.Fatalf("%s is not installed and %s=1 asks for it (%s)", missing, Require, packages)
	default:
		t.Skipf("%s is not installed (%s)", missing, packages)
	}
	return path
}
