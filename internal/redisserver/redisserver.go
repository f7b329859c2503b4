// Package redisserver starts real redis-server processes for tests.
//
// Each server listens on a free loopback port, keeps its files in the test's own folder, and
// persists nothing unless its arguments request it. It is stopped by its process id when the test
// ends (on Linux also when the test process dies).
package redisserver

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/serverprocess"
)

// Require is the environment variable that, if set to 1, makes a missing redis-server a failure
// instead of a skipped test.
const Require = serverprocess.Require

const (
	program  = "redis-server"   // also the name of its Debian package
	patience = 20 * time.Second // a loaded machine starts slowly
)

// A Server is a running redis-server. Addr and Port may be called from any goroutine, the other
// methods only from the test's own. Restart keeps the address and the files: without persistence
// the server is empty after it.
type Server struct {
	*serverprocess.Server

	t testing.TB
}

// Start starts a redis-server with the given arguments ("--appendonly", "yes") behind its own, and
// returns when it answers. Many tests and packages may call it at once. If redis-server is not
// installed, the test is skipped, or fails if CRONCE_REQUIRE_SERVERS is 1.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	dir := t.TempDir()
	return run(t, dir, nil, func(port int) []string { return arguments(dir, port, args) })
}

// arguments returns the arguments of a server that persists nothing, followed by args.
func arguments(dir string, port int, args []string) []string {
	return append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", ""}, args...)
}

// run starts a server with exactly these arguments.
func run(t testing.TB, dir string, prepare func(port int) error, args func(port int) []string) *Server {
	t.Helper()
	path := serverprocess.Find(t, program, program)
	return &Server{t: t, Server: serverprocess.Start(t, dir, settings(path, prepare, args))}
}

// settings returns the program with which a redis-server is started.
func settings(path string, prepare func(port int) error, args func(port int) []string) serverprocess.Program {
	return serverprocess.Program{
		Name: program, Patience: patience, Prepare: prepare,
		Command: func(port int) *exec.Cmd { return exec.Command(path, args(port)...) },
		Answers: func(s *serverprocess.Server) bool { return answers(s.Port(), s.Pid(), s.Log()) },
	}
}

// Version returns the version of the installed redis-server, or "unknown" if it does not print one.
func Version() string {
	out, _ := exec.Command(program, "--version").Output()
	for word := range strings.FieldsSeq(string(out)) {
		if version, ok := strings.CutPrefix(word, "v="); ok {
			return version
		}
	}
	return "unknown"
}
