// Package redisd starts real redis-server processes for measurements: on a free
// loopback port, with a temporary folder, without persistence.
package redisd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/bench/internal/proc"
)

const (
	program  = "redis-server"
	tries    = 20
	patience = 20 * time.Second
)

// A Server is a running redis-server. Stop ends it.
type Server struct {
	dir  string
	addr string
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process was waited for
}

// Start starts a server and returns when it answers.
func Start(ctx context.Context) (*Server, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%w (Debian: apt-get install redis-server)", err)
	}
	for range tries {
		var s *Server
		if s, err = start(ctx, path); err == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("redisd: %w", err)
}

func start(ctx context.Context, path string) (*Server, error) {
	dir, err := os.MkdirTemp("", "cronce-bench-")
	if err != nil {
		return nil, err
	}
	// Below the range from which the system gives ports to outgoing connections.
	port := strconv.Itoa(11000 + rand.IntN(20000))
	s := &Server{dir: dir, addr: net.JoinHostPort("127.0.0.1", port), gone: make(chan struct{})}
	s.cmd = exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "",
		"--appendonly", "no", "--daemonize", "no", "--loglevel", "warning")
	s.cmd.SysProcAttr = proc.DieWithParent()
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() {
		defer close(s.gone)
		_ = s.cmd.Wait() // it ends when it is killed
	}()
	if err := s.ready(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// ready waits until the server that answers is this one: another process may
// have been faster to bind the port.
func (s *Server) ready(ctx context.Context) error {
	c := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1})
	defer c.Close()
	own := fmt.Sprintf("process_id:%d\r\n", s.cmd.Process.Pid)
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		if info, err := c.Info(ctx, "server").Result(); err == nil && strings.Contains(info, own) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer on %s: %w", s.addr, ctx.Err())
		case <-s.gone:
			return fmt.Errorf("the server on %s ended before it answered", s.addr)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Addr is the server's host:port.
func (s *Server) Addr() string { return s.addr }

// Signal stops the server where it is, or lets it go on.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Stop ends the server and removes its files.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill() // gone already is what we want
	<-s.gone
	_ = os.RemoveAll(s.dir)
}

// Version is what the installed redis-server says of itself.
func Version() string {
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		return "unknown"
	}
	for _, word := range strings.Fields(string(out)) {
		if v, ok := strings.CutPrefix(word, "v="); ok {
			return v
		}
	}
	return "unknown"
}
