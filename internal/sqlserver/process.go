package sqlserver

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const pause = 10 * time.Millisecond

// errEnded means that the server ended before it was ready, as it does when it
// cannot bind its port.
var errEnded = errors.New("the server ended before it was ready")

// A process is one running server and what it printed.
type process struct {
	kind *kind
	cmd  *exec.Cmd
	log  *output
	gone chan struct{} // closed when the process was waited for
}

// start starts a server and returns when it says that it is ready. On an error
// nothing is left running.
func (k *kind) start(bin, dir string, port int, args []string) (*process, error) {
	p := &process{kind: k, log: new(output), gone: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(bin, k.program), append(k.arguments(dir, port), args...)...)
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	var err error
	if p.cmd.SysProcAttr, err = attributes(k.quit); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		close(p.gone)
		return p, err
	}
	go func() {
		defer close(p.gone)
		_ = p.cmd.Wait() // how it ended is in its log
	}()
	if err := p.ready(); err != nil {
		p.kill()
		return p, fmt.Errorf("%w; it printed:\n%s", err, p.log)
	}
	return p, nil
}

// ready waits until the process says so, which it does only after it has bound
// its port.
func (p *process) ready() error {
	deadline := time.After(patience)
	for {
		select {
		case <-p.gone:
			return errEnded
		case <-deadline:
			return fmt.Errorf("not ready within %v", patience)
		case <-time.After(pause):
			if strings.Contains(p.log.String(), p.kind.ready) {
				return nil
			}
		}
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process, and those that it started: PostgreSQL has one per
// connection, and they would serve on for a moment.
func (p *process) kill() {
	if p.cmd.Process != nil {
		p.signal(syscall.SIGKILL)
	}
	<-p.gone
}

// signal sends a signal to the process and to those that it started.
func (p *process) signal(sig os.Signal) {
	for _, pid := range append([]int{p.pid()}, children(p.pid())...) {
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Signal(sig) // gone already is as good
		}
	}
}

// terminate asks the process to end and reports whether it did.
func (p *process) terminate() bool {
	_ = p.cmd.Process.Signal(p.kind.end)
	select {
	case <-p.gone:
		return true
	case <-time.After(patience):
		return false
	}
}

// children are the processes whose parent is pid, as far as the system tells.
func children(pid int) (found []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent …; the name may have spaces and brackets
		_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
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
