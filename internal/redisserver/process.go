package redisserver

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const pause = 10 * time.Millisecond

// errTaken means that the server ended before it answered, as it does when it
// cannot bind its port.
var errTaken = errors.New("the server ended before it answered")

// A process is one redis-server and what it printed.
type process struct {
	cmd  *exec.Cmd
	log  *output
	gone chan struct{} // closed when the process was waited for
}

// start starts a server and returns when the one that answers is this one.
// On an error nothing is left running.
func start(path, dir string, port int, args []string) (*process, error) {
	own := []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", ""}
	return launch(path, port, append(own, args...))
}

// launch starts a process with nothing but these arguments.
func launch(path string, port int, args []string) (*process, error) {
	p := &process{log: new(output), gone: make(chan struct{})}
	p.cmd = exec.Command(path, args...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = dieWithParent()
	if err := p.cmd.Start(); err != nil {
		close(p.gone)
		return p, err
	}
	go func() {
		defer close(p.gone)
		_ = p.cmd.Wait() // how it ended is in its log
	}()
	if err := p.ready(port); err != nil {
		p.kill()
		return p, fmt.Errorf("%w; it printed:\n%s", err, p.log)
	}
	return p, nil
}

// ready waits until the server on port is p.
func (p *process) ready(port int) error {
	deadline := time.After(patience)
	for {
		select {
		case <-p.gone:
			return errTaken
		case <-deadline:
			return fmt.Errorf("no answer on port %d within %v", port, patience)
		case <-time.After(pause):
			if p.answers(port) {
				return nil
			}
		}
	}
}

// answers asks the server on port for its process id: another one may have been
// faster to bind. A server that wants a password first is known by its log,
// which says ready only after it has bound the port.
func (p *process) answers(port int) bool {
	info, err := ask(port)
	if err != nil {
		return false
	}
	if strings.HasPrefix(info, "-NOAUTH") || strings.HasPrefix(info, "-NOPERM") {
		return strings.Contains(p.log.String(), "Ready to accept connections")
	}
	return strings.Contains(info, fmt.Sprintf("\r\nprocess_id:%d\r\n", p.pid())) &&
		!strings.Contains(info, "\r\nloading:1\r\n")
}

// ask returns the reply to INFO.
func ask(port int) (string, error) { return send(port, "INFO") }

// send returns the raw replies to commands.
func send(port int, commands ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(strings.Join(commands, "\r\n") + "\r\n")); err != nil {
		return "", err
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil { // Sentinel knows no QUIT
		return "", err
	}
	var reply bytes.Buffer
	_, err = reply.ReadFrom(conn)
	return reply.String(), err
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) kill() {
	if p.cmd.Process != nil {
		_ = p.cmd.Process.Kill() // gone already is what we want
	}
	<-p.gone
}

// terminate asks the process to end and reports whether it did.
func (p *process) terminate() bool {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.gone:
		return true
	case <-time.After(patience):
		return false
	}
}

// freePort returns a port that nobody listens on. It is below the range from
// which the system gives ports to outgoing connections, so that none of those
// takes it while a server restarts.
func freePort() int {
	for {
		port := 11000 + rand.IntN(20000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = l.Close()
			return port
		}
	}
}

// An output keeps what a process prints. It may be used concurrently.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
