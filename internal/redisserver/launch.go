package redisserver

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/cronce/cronce/internal/serverprocess"
)

// A Launched server belongs to a program that is not a test, such as a benchmark. End ends it.
type Launched struct {
	server *serverprocess.Server
}

// Launch starts a redis-server with the given arguments behind its own, and returns when it
// answers. It fails if redis-server is not installed. After an error nothing is left.
func Launch(args ...string) (*Launched, error) {
	path, err := serverprocess.Lookup(program, program)
	if err != nil {
		return nil, fmt.Errorf("redisserver: %w", err)
	}
	dir, err := os.MkdirTemp("", "redisserver-")
	if err != nil {
		return nil, fmt.Errorf("redisserver: make its folder: %w", err)
	}
	s, err := serverprocess.Lasting(dir, settings(path, nil, func(port int) []string { return arguments(dir, port, args) }))
	if err != nil {
		_ = os.RemoveAll(dir) // only the error of the start matters
		return nil, err
	}
	return &Launched{s}, nil
}

// Addr returns the server's host:port.
func (l *Launched) Addr() string { return l.server.Addr() }

// Freeze stops the server (SIGSTOP): its connections stay open and it does not answer.
func (l *Launched) Freeze() { l.server.Freeze() }

// Thaw continues a frozen server.
func (l *Launched) Thaw() { l.server.Thaw() }

// End kills the server and removes its files.
func (l *Launched) End() {
	l.server.Kill()
	_ = os.RemoveAll(l.server.Dir()) // if it fails, the system empties its folder for temporary files
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
