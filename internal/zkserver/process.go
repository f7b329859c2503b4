package zkserver

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

const pause = 20 * time.Millisecond

// errTaken means that the server ended before it answered, as it does when it
// cannot bind its port.
var errTaken = errors.New("the server ended before it answered")

// A process is one ZooKeeper and what it printed.
type process struct {
	cmd  *exec.Cmd
	dir  string
	log  *output
	gone chan struct{} // closed when the process was waited for
}

// start starts a server and returns when the one that answers is this one.
// On an error nothing is left running.
func start(java, dir string, port int, settings []string) (*process, error) {
	p := &process{dir: dir, log: new(output), gone: make(chan struct{})}
	config := filepath.Join(dir, "zoo.cfg")
	if err := os.WriteFile(config, configuration(dir, port, settings), 0o600); err != nil {
		close(p.gone)
		return p, err
	}
	p.cmd = exec.Command(java, arguments(config)...)
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

// arguments keep the machine small and its start quick.
func arguments(config string) []string {
	return []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.preAllocSize=256", "-Dzookeeper.forceSync=no", "-Dzookeeper.admin.enableServer=false",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", jar + ":" + filepath.Join(filepath.Dir(jar), "slf4j-simple.jar"),
		"org.apache.zookeeper.server.ZooKeeperServerMain", config}
}

func configuration(dir string, port int, settings []string) []byte {
	lines := append([]string{
		"tickTime=" + strconv.FormatInt(Tick.Milliseconds(), 10),
		"dataDir=" + dataDir(dir),
		"clientPort=" + strconv.Itoa(port),
		"clientPortAddress=127.0.0.1",
		"maxClientCnxns=0",
		"maxSessionTimeout=120000",
		"4lw.commands.whitelist=*",
	}, settings...)
	return []byte(strings.Join(lines, "\n") + "\n")
}

func dataDir(dir string) string { return filepath.Join(dir, "data") }

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

// answers asks the server on port for its folder: another one may have been
// faster to bind. A server that does not serve yet says so instead.
func (p *process) answers(port int) bool {
	conf, err := ask(port, "conf", 500*time.Millisecond) // one that just begins may never answer
	return err == nil && strings.Contains(conf, "\ndataDir="+dataDir(p.dir)+string(filepath.Separator))
}

// ask returns the answer to a four-letter word.
func ask(port int, word string, limit time.Duration) (string, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(word)); err != nil {
		return "", err
	}
	var reply bytes.Buffer
	_, err = reply.ReadFrom(conn)
	return reply.String(), err
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) kill() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill() // gone already is what we want
	}
	<-p.gone
}

// terminate asks the process to end and reports whether it did. A frozen one is
// continued, or it could not.
func (p *process) terminate() bool {
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
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
