package redisserver

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/cronce/cronce/internal/serverprocess"
)

// A Launched server belongs to a program that is no test, such as a benchmark. End ends it.
type Launched struct {
	server *serverprocess.Server
}

// Launch starts a redis-server with the given arguments behind its own, and returns when it
// answers. It fails where redis-server is not installed. On an error nothing is left.
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
		_ = os.RemoveAll(dir) // why there is no server counts
		return nil, err
	}
	return &Launched{s}, nil
}

// Addr is the server's host:port.
func (l *Launched) Addr() string { return l.server.Addr() }

// Freeze stops the server from running: its connections stay open and nothing answers.
func (l *Launched) Freeze() { l.server.Freeze() }

// Thaw continues a frozen server.
func (l *Launched) Thaw() { l.server.Thaw() }

// End kills the server and removes its files.
func (l *Launched) End() {
	l.server.Kill()
	_ = os.RemoveAll(l.server.Dir()) // the system empties its folder for temporary files
}

// Version is the version of the installed redis-server; "unknown" if it does not print one.
func Version() string {
	out, _ := exec.Command(program, "--version").Output()
	for word := range strings.FieldsSeq(string(out)) {
		if version, ok := strings.CutPrefix(word, "v="); ok {
			return version
		}
	}
	return "unknown"
}
