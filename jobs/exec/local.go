//go:build !linux

package exec

import (
	"context"
	"errors"
	"os"
	osexec "os/exec"
	"sync"
	"time"
)

// Warden returns an error: it works only on Linux.
func Warden() error { return errors.New("exec: the warden is available only on Linux") }

func newBackend(Config) (backend, error) {
	return &local{ended: make(chan struct{})}, nil
}

// A local backend starts commands as children of the node.
type local struct {
	ended chan struct{}
	left  sync.WaitGroup
}

func (l *local) run(ctx context.Context) error {
	<-ctx.Done()
	close(l.ended)
	l.left.Wait()
	return nil
}

// start starts a command in a group of its own.
func (l *local) start(_ context.Context, q *request, files []*os.File, times func() (term, kill time.Time)) (child, error) {
	cmd := &osexec.Cmd{Path: string(q.Path), Args: toTexts(q.Args), Env: toTexts(q.Env), Dir: string(q.Dir), Stdout: files[0], Stderr: files[0], SysProcAttr: ownGroup(q.User)}
	if len(files) > 1 {
		cmd.Stdin = files[1]
	}
	if err := startGroup(cmd, q.Umask); err != nil {
		return nil, err
	}
	term, kill := times()
	c := &localChild{cmd: cmd, done: make(chan reply, 1), exited: make(chan struct{}), moved: make(chan struct{}, 1), term: term, kills: kill}
	l.left.Go(func() { c.wait(q.ID) })
	go c.guard(l.ended)
	return c, nil
}

// A localChild is a command with its kill times.
type localChild struct {
	cmd    *osexec.Cmd
	done   chan reply
	exited chan struct{}
	moved  chan struct{} // wakes the guard

	mu          sync.Mutex
	term, kills time.Time // zero: never
	stopped     time.Time // when it gets SIGKILL regardless of the lease; zero: it continues
	expired     bool
}

func (c *localChild) over() <-chan reply { return c.done }

func (c *localChild) wait(id uint64) {
	_ = c.cmd.Wait()
	killGroup(c.cmd)
	close(c.exited)
	c.mu.Lock()
	defer c.mu.Unlock()
	code, signal := exitOf(c.cmd.ProcessState)
	c.done <- reply{ID: id, Code: code, Signal: signal, Lease: c.expired}
}

// guard ends the command in time.
func (c *localChild) guard(ended <-chan struct{}) {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-c.exited:
			return
		case <-ended:
			ended = nil
			c.kill()
		case <-c.moved:
		case <-t.C:
		}
		if next := c.act(time.Now()); !next.IsZero() {
			t.Reset(time.Until(next))
		}
	}
}

// act ends the command if its time has come, and returns when act must be called again.
func (c *localChild) act(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	kill := earlierTime(c.kills, c.stopped)
	switch {
	case !kill.IsZero() && !now.Before(kill):
		killGroup(c.cmd)
		return now.Add(100 * time.Millisecond)
	case c.stopped.IsZero() && !c.term.IsZero() && !now.Before(c.term):
		c.expired, c.stopped = true, c.kills
		terminateGroup(c.cmd)
	}
	if c.stopped.IsZero() {
		return earlierTime(kill, c.term)
	}
	return kill
}

// earlierTime returns the earlier of two times; the zero time is no time.
func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (c *localChild) extend(term, kill time.Time) {
	c.mu.Lock()
	c.term, c.kills = term, kill
	c.mu.Unlock()
	c.wake()
}

func (c *localChild) stop(kill time.Time) {
	terminateGroup(c.cmd)
	c.mu.Lock()
	c.stopped = earlierTime(c.stopped, kill)
	c.mu.Unlock()
	c.wake()
}

func (c *localChild) kill() {
	c.mu.Lock()
	c.stopped = time.Unix(0, 0)
	c.mu.Unlock()
	c.wake()
}

func (c *localChild) wake() {
	select {
	case c.moved <- struct{}{}:
	default:
	}
}
