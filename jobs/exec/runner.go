package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A Config has the settings of a Runner.
type Config struct {
	// Warden has the arguments, without the name of the program, with which this program calls Warden and does nothing else.
	// On Linux it is required. If they lead elsewhere, New refuses that process. The warden has the privileges of the node, and no variable of its
	// environment.
	Warden []string
	// Logger gets the lines that belong to no run. Nil: no log.
	Logger *slog.Logger
}

// A Runner runs commands. It is safe for concurrent use. Make one with [New]: the zero
// Runner cannot be used.
type Runner struct {
	backend backend
	started atomic.Bool
}

// A backend starts commands on one platform.
type backend interface {
	// run serves until ctx ends, and then kills the remaining commands.
	run(ctx context.Context) error
	// start starts a command with the first file as its output and the second as its input. It
	// waits until the backend is ready or ctx ends, and then reads the times of SIGTERM and SIGKILL. Zero times mean never.
	start(ctx context.Context, q *request, files []*os.File, times func() (term, kill time.Time)) (child, error)
}

// A child is a command that was started. Its methods block for a few seconds at most.
type child interface {
	extend(term, kill time.Time) // moves the times of SIGTERM and SIGKILL
	stop(kill time.Time)         // sends SIGTERM, and SIGKILL at that time
	kill()                       // sends SIGKILL
	over() <-chan reply          // gets one reply when no process is left
}

// New returns a Runner. It starts nothing.
func New(cfg Config) (*Runner, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	b, err := newBackend(cfg)
	if err != nil {
		return nil, err
	}
	return &Runner{backend: b}, nil
}

// Run serves the commands until ctx ends, and then kills those that are left. Functions of jobs
// wait for it, so end ctx only after scheduler.Node.Run has returned. Run may be called once.
func (r *Runner) Run(ctx context.Context) error {
	if r.started.Swap(true) {
		return errors.New("exec: run: a runner runs once")
	}
	return r.backend.run(ctx)
}

// Func returns the function of a job that runs the command. The error joins the faults of the
// command, each a *FieldError. A missing program is no fault: see Command.Find.
//
// The function returns when no process of the command is left. If the command failed, it returns an
// *ExitError, wrapped with scheduler.Permanent if another try is useless. After an exit code in
// SkipCodes it returns scheduler.Skip. If the command was ended because the lease of the run was
// not renewed in time, it returns when the lease is lost or, with ErrExpired, renewed. The end of the context ends the command: with SIGKILL
// if the lease is lost, because another node may already run the tick, or else with SIGTERM, and
// SIGKILL after the grace.
func (r *Runner) Func(c Command) (scheduler.Func, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.Args, c.Secrets = slices.Clone(c.Args), slices.Clone(c.Secrets)
	c.SkipCodes, c.PermanentCodes, c.RetryCodes = slices.Clone(c.SkipCodes), slices.Clone(c.PermanentCodes), slices.Clone(c.RetryCodes)
	if c.Umask != nil {
		mask := *c.Umask
		c.Umask = &mask
	}
	c.Env = c.environment()
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	user, err := c.credential()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, run *scheduler.Run) error {
		return r.run(ctx, run, &c, user)
	}, nil
}

// ErrExpired is the error of a command that was ended, or not started, because the lease of its run was
// about to end: the node did not reach the store for long, or was stopped. If the lease ends, the run is
// lost; if it was renewed after all, the run has failed.
var ErrExpired = errors.New("exec: the command was ended before the lease of its run, which was not renewed in time")

// An ExitError describes how a command failed.
type ExitError struct {
	Code   int    // its exit code; 0 if a signal ended it
	Signal string // the name of the signal that ended it, such as SIGSEGV; empty if it exited
	Output string // the end of its output, up to 16 KiB, masked
}

// Error returns the code or the signal, and the last line of the output.
func (e *ExitError) Error() string {
	text := "exit code " + strconv.Itoa(e.Code)
	if e.Signal != "" {
		text = "killed by " + e.Signal
	}
	if line := lastLine(e.Output); line != "" {
		text += ": " + line
	}
	return text
}

// runEnv returns the variables that describe a run.
func runEnv(run *scheduler.Run) []string {
	env := []string{"CRONCE_JOB=" + run.Job, "CRONCE_TICK=" + run.Tick.UTC().Format("2006-01-02T15:04:05.000Z"), RunIDEnv + "=" + run.ID,
		"CRONCE_FENCE=" + strconv.FormatInt(run.Fence, 10), "CRONCE_ATTEMPT=" + strconv.Itoa(run.Attempt)}
	if run.Shards > 0 {
		env = append(env, "CRONCE_SHARD="+strconv.Itoa(run.Shard), "CRONCE_SHARDS="+strconv.Itoa(run.Shards), "CRONCE_PARAM="+run.Param)
	}
	return env
}

func failedToStart(c *Command, err error) error {
	return fmt.Errorf("exec: starting %q: %w", c.Args[0], err)
}
