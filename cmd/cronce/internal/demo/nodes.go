package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cronce/cronce/cmd/internal/childprocess"
)

// drainPatience bounds the wait for nodes to drain; it is longer than their graces.
const drainPatience = 10 * time.Second

// The nodes are the node processes of a demo.
type nodes struct {
	command func(name string) *exec.Cmd
	log     *logView
	count   int
	running []*node
	kills   int
	ended   chan *node // gets each node that has ended, for any reason
}

// A node is one node process.
type node struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.Closer // the node ends when this is closed
	ending bool      // it was asked to end
	done   chan struct{}
	err    error // the reason of its end, once done is closed
}

// show runs the nodes, and kills them as the options say.
func (n *nodes) show(ctx context.Context, o *Options) error {
	ctx, stop := context.WithTimeout(ctx, o.Duration)
	defer stop()
	for range o.Nodes {
		if err := n.start(); err != nil {
			return err
		}
	}
	return n.watch(ctx, o.KillEvery)
}

// watch returns when ctx ends, or with an error when a node ends by itself.
func (n *nodes) watch(ctx context.Context, killEvery time.Duration) error {
	var kill <-chan time.Time
	if killEvery > 0 {
		t := time.NewTicker(killEvery)
		defer t.Stop()
		kill = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-n.ended:
			if !p.ending {
				return fmt.Errorf("demo: %s ended by itself: %w", p.name, p.err)
			}
		case <-kill:
			if err := n.replaceOne(); err != nil {
				return err
			}
		}
	}
}

// start starts another node.
func (n *nodes) start() error {
	n.count++ // no name is used twice
	p := &node{name: fmt.Sprintf("node-%d", n.count), done: make(chan struct{})}
	p.cmd = n.command(p.name)
	p.cmd.SysProcAttr = childprocess.InOwnGroup()
	if err := n.run(p); err != nil {
		return fmt.Errorf("demo: start %s: %w", p.name, err)
	}
	n.running = append(n.running, p)
	n.log.addEvent("node launched", p)
	return nil
}

// run starts the process and reads its output until it ends.
func (n *nodes) run(p *node) error {
	stdin, errIn := p.cmd.StdinPipe()
	stdout, errOut := p.cmd.StdoutPipe()
	stderr, errErr := p.cmd.StderrPipe()
	if err := errors.Join(errIn, errOut, errErr); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.stdin = stdin
	var reading sync.WaitGroup
	reading.Go(func() { eachLine(stdout, func(line string) { n.log.addOutput(p.name, line) }) })
	reading.Go(func() { eachLine(stderr, func(line string) { n.log.addLine(p.name, line) }) })
	go func() { // ends with the process, for which drain and kill wait
		reading.Wait()
		n.reportEnd(p, p.cmd.Wait())
	}()
	return nil
}

// reportEnd records the end of a process, and notifies watch.
func (n *nodes) reportEnd(p *node, err error) {
	if p.err = err; err == nil {
		p.err = errors.New("it stopped")
	}
	close(p.done)
	select {
	case n.ended <- p:
	default: // one notification is enough
	}
}

// eachLine calls f with each line of any length.
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
func (n *nodes) replaceOne() error {
	i := rand.IntN(len(n.running))
	p := n.running[i]
	p.ending = true
	n.kills++
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.done
	n.running = slices.Delete(n.running, i, i+1)
	n.log.addEvent("node killed", p)
	return n.start()
}

// drain asks all nodes to end, and waits until they have, or were killed.
func (n *nodes) drain() {
	for _, p := range n.running {
		p.ending = true
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			_ = p.stdin.Close() // on systems without that signal
		}
	}
	patience := time.NewTimer(drainPatience)
	defer patience.Stop()
	for _, p := range n.running {
		select {
		case <-p.done:
		case <-patience.C:
			n.log.addEvent("node does not drain", p)
			n.kill()
		}
	}
	n.running = nil
}

// kill kills the remaining nodes.
func (n *nodes) kill() {
	for _, p := range n.running {
		p.ending = true
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}
