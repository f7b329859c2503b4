package exec

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/scheduler"
)

// run runs a command once. It returns when no process of the command is left.
func (r *Runner) run(ctx context.Context, run *scheduler.Run, c *Command, user *credential) error {
	path, err := c.Find()
	if err != nil {
		return scheduler.Permanent(err)
	}
	var line func(string)
	if c.Log {
		log := run.Logger()
		line = func(text string) { log.Info("output", "line", text) }
	}
	out, files, err := openOutput(c.Stdin, c.Secrets, line)
	if err != nil {
		return failedToStart(c, err)
	}
	w := newWatch(run.Deadline, c.Grace)
	q := &request{Op: opStart, RunID: run.ID, Path: []byte(path), Args: toBytes(c.Args), Env: toBytes(append(slices.Clip(c.Env), runEnv(run)...)),
		Dir: []byte(c.Dir), Stdin: c.Stdin != "", Umask: c.Umask, User: user}
	child, err := r.backend.start(ctx, q, files, w.times)
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil {
		out.end()
		return failedToStart(c, err)
	}
	end := w.follow(ctx, child)
	if end.Lease {
		w.await(ctx)
	}
	text := out.end()
	run.KeepOutput(text)
	return result(ctx, c, &end, text)
}

// result returns the error of a run for the end of its command.
func result(ctx context.Context, c *Command, end *reply, output string) error {
	switch {
	case end.Died:
		return errors.New("exec: the process that runs commands died, and so did the command")
	case end.Err != "":
		return failedToStart(c, errors.New(end.Err))
	case end.Lease && (ctx.Err() == nil || end.Code == 0 && end.Signal == 0): // it was not started, or ended well at SIGTERM: not its work
		return ErrExpired
	case end.Code == 0 && end.Signal == 0:
		return nil
	}
	err := &ExitError{Code: end.Code, Signal: signalName(end.Signal), Output: output}
	switch {
	case slices.Contains(c.SkipCodes, end.Code) && ctx.Err() == nil:
		return scheduler.Skip(err.Error())
	case c.permanent(end.Code):
		return scheduler.Permanent(err)
	}
	return err
}

// Exit codes of shells for a program that cannot be run, or does not exist.
const (
	notExecutable = 126
	notFound      = 127
)

// permanent reports whether another try is useless after an exit code; 0 is for a command that a
// signal ended.
func (c *Command) permanent(code int) bool {
	switch {
	case code == notExecutable, code == notFound, slices.Contains(c.PermanentCodes, code):
		return true
	}
	return len(c.RetryCodes) > 0 && !slices.Contains(c.RetryCodes, code)
}

// A watch keeps the kill times of a command in step with the lease of its run. The command gets
// SIGKILL when the lease can no longer be trusted, which is before another node can be granted the
// tick. It gets SIGTERM earlier by the grace, but at most by a third of the lease.
type watch struct {
	deadline   func() time.Time
	grace      time.Duration
	span       time.Duration // the length of the lease just after its last renewal
	term, kill time.Time     // zero: the run has no lease
}

func newWatch(deadline func() time.Time, grace time.Duration) *watch {
	w := &watch{deadline: deadline, grace: grace}
	w.read()
	return w
}

// read sets the times from the lease, and reports whether they moved.
func (w *watch) read() (moved bool) {
	deadline := w.deadline()
	if deadline.Equal(w.kill) {
		return false
	}
	w.span = max(w.span, time.Until(deadline))
	w.term, w.kill = deadline.Add(-min(w.grace, w.span/3)), deadline
	return true
}

// times returns the times of the lease as it is now.
func (w *watch) times() (term, kill time.Time) {
	w.read()
	return w.term, w.kill
}

// lossDelay is how long after the end of the trust in a lease its context may end.
const lossDelay = time.Second

// await returns when the lease, for which a command was ended, is renewed or lost. A function that returned earlier
// would make the run fail; if the lease is lost, the job's takeover decides, as it does for any other run.
func (w *watch) await(ctx context.Context) {
	t := time.NewTicker(max(w.span/perLease, time.Millisecond))
	defer t.Stop()
	for until := w.kill.Add(lossDelay); time.Now().Before(until); {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if w.read() {
				return
			}
		}
	}
}

// perLease is how often the deadline of a lease is read during the lease. A renewal comes after a
// third of the lease, so there is enough time for its reply to postpone SIGTERM.
const perLease = 20

// follow returns how the command ended. It moves the kill times with each renewal, and stops the
// command when ctx ends. The lease is renewed until the command is over.
func (w *watch) follow(ctx context.Context, child child) reply {
	var tick <-chan time.Time
	if !w.kill.IsZero() {
		t := time.NewTicker(max(w.span/perLease, time.Millisecond))
		defer t.Stop()
		tick = t.C
	}
	done := ctx.Done()
	for {
		select {
		case end := <-child.over():
			return end
		case <-tick:
			if w.read() {
				child.extend(w.term, w.kill)
			}
		case <-done:
			done = nil
			if errors.Is(context.Cause(ctx), lock.ErrLost) {
				child.kill() // another node may already run the tick
			} else {
				child.stop(time.Now().Add(w.grace))
			}
		}
	}
}
