package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/childprocess"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
)

// drainPatience is how long nodes may take to drain: longer than their graces.
const drainPatience = 10 * time.Second

// A fleet is the node processes of a demo.
type fleet struct {
	config *config.Config
	log    *demoLog
	count  int
	nodes  []*process
	kills  int
	dead   chan *process // one that ended, asked to or not
}

// A process is one node.
type process struct {
	name   string
	cmd    *exec.Cmd
	life   io.Closer // its standard input: when it ends, so does the node
	ending bool      // we asked it to
	done   chan struct{}
	err    error // how it ended, once done is closed
}

// start starts another node of this binary.
func (fl *fleet) start() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("demo: find this binary: %w", err)
	}
	fl.count++ // names are never used again
	p := &process{name: fmt.Sprintf("node-%d", fl.count), done: make(chan struct{})}
	p.cmd = exec.Command(self, "node", "--demo", "--name", p.name, "--redis", fl.config.Redis.URL, "--namespace", fl.config.Namespace)
	p.cmd.Env = config.NodeEnv(os.Environ(), fl.config.Embedded())
	p.cmd.SysProcAttr = childprocess.InOwnGroup()
	if err := fl.run(p); err != nil {
		return fmt.Errorf("demo: start %s: %w", p.name, err)
	}
	fl.nodes = append(fl.nodes, p)
	fl.log.event("node launched", p)
	return nil
}

// run starts the process and reads what it prints until it ends.
func (fl *fleet) run(p *process) error {
	stdin, errIn := p.cmd.StdinPipe()
	stdout, errOut := p.cmd.StdoutPipe()
	stderr, errErr := p.cmd.StderrPipe()
	if err := errors.Join(errIn, errOut, errErr); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.life = stdin
	var reading sync.WaitGroup
	reading.Go(func() { eachLine(stdout, func(line string) { fl.log.printed(p.name, line) }) })
	reading.Go(func() { eachLine(stderr, func(line string) { fl.log.logged(p.name, line) }) })
	go func() { // ends with the process, which drain and kill wait for
		reading.Wait()
		fl.buried(p, p.cmd.Wait())
	}()
	return nil
}

// buried tells that a process has ended.
func (fl *fleet) buried(p *process, err error) {
	if p.err = err; err == nil {
		p.err = errors.New("it stopped")
	}
	close(p.done)
	select {
	case fl.dead <- p:
	default: // one is enough
	}
}

// eachLine reads to the end, whatever the length of lines.
func eachLine(r io.Reader, f func(string)) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			f(line)
		}
		if err != nil {
			return
		}
	}
}

// replaceOne kills a random node, as a crash would, and starts another.
func (fl *fleet) replaceOne() error {
	i := rand.IntN(len(fl.nodes))
	p := fl.nodes[i]
	p.ending = true
	fl.kills++
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.done
	fl.nodes = slices.Delete(fl.nodes, i, i+1)
	fl.log.event("node killed", p)
	return fl.start()
}

// drain asks all nodes to end, and waits until they have, or were killed.
func (fl *fleet) drain() {
	for _, p := range fl.nodes {
		p.ending = true
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			_ = p.life.Close() // where there is no such signal
		}
	}
	patience := time.NewTimer(drainPatience)
	defer patience.Stop()
	for _, p := range fl.nodes {
		select {
		case <-p.done:
		case <-patience.C:
			fl.log.event("node does not drain", p)
			fl.kill()
		}
	}
	fl.nodes = nil
}

// kill ends what is left.
func (fl *fleet) kill() {
	for _, p := range fl.nodes {
		p.ending = true
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}
