// Package lockcommand has the command lock: run a command while holding a lock, show the holders of
// a lock, and free a lock by force.
package lockcommand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/childprocess"
	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/spec"
)

type lockFlags struct {
	try, shared, show bool
	secrets, force    bool
	permits, conflict int
	wait, ttl, grace  time.Duration
	hold, oncePer     time.Duration
	tick, zone        string
	schedule          *spec.Schedule // the schedule of tick or oncePer
	output, note      string
	reason, who       string // for a forced unlock
	fence             int64  // the fence of the one lease to free
}

// limit returns the number of holders that the lock may have at once.
func (f *lockFlags) limit() int {
	if f.shared {
		return lock.NoLimit
	}
	return f.permits
}

// Command makes the command lock.
func Command() *cobra.Command {
	var f lockFlags
	cmd := &cobra.Command{
		Use:   "lock KEY [flags] -- command [argument ...]",
		Short: "Run a command while holding a lock",
		Long: "Run a command while holding a lock, once at a time across all machines; with --permits, up to that many at\n" +
			"a time. With --shared, any number of commands run at the same time, but never together with one without.\n\n" +
			"The lock is renewed until the command ends. When it is lost, or cronce gets a signal to stop, the command\n" +
			"gets SIGTERM, and SIGKILL when --grace has passed or cronce gets a second signal, 0.1 s or more after the\n" +
			"first; on Linux also if cronce itself is killed. The lock is then released. Processes that the command\n" +
			"started, as a shell does for a | b, get neither signal and continue without the lock.\n" +
			"GNU's timeout passes SIGTERM, and with -k SIGKILL, on to all of them: see the example with a pipe.\n" +
			config.FenceEnv + " in the command's environment is the fence of the lock: greater than the fence of every\n" +
			"earlier holder. The variables from which cronce reads secrets (CRONCE_REDIS_PASSWORD, CRONCE_STORE_PASSWORD, a\n" +
			"CRONCE_REDIS_URL with a password, the variables that the configuration names, and all unknown CRONCE_ variables)\n" +
			"are removed from it, unless --with-secrets is given.\n\n" +
			"--hold keeps the lock for at least this long, even if the command ends earlier, so that another machine whose\n" +
			"clock is behind is refused for this long.\n\n" +
			"With --tick SPEC, or --once-per DURATION, the command runs once for each tick, on one of the machines whose crontabs\n" +
			"have the same line, regardless of their clocks. One call claims the tick, by the store's clock; the others do nothing,\n" +
			"print nothing and exit with 0. A call that is early by at most a minute, or by half the time between two ticks if that\n" +
			"is less, waits for the tick. A call that is late runs the latest tick if no machine has. While the run of an earlier tick is alive the tick\n" +
			"is skipped, and one call prints this. The fields of the spec are in UTC: set --zone to the zone of the crontab. A tick\n" +
			"that no crontab claims is not overdue. The store keeps the runs under the name lock/KEY: cronce runs, why and verify\n" +
			"show them. " +
			config.TickEnv + " in the command's environment is the tick.\n\n" +
			"Exit code: the code of the command, 128 + n if signal n ended it, 127 if there is no such command and 126\n" +
			"if it cannot be run; 1 if the lock was lost or a signal came before the command was started, 2 for wrong usage, the code of --conflict-exit-code (3) if\n" +
			"another owner held it for too long, 3 if the store is not fit for locks (see cronce doctor) or refuses the user,\n" +
			"4 if the owner is not known. With --show no command runs: it prints the owners of the lock, and forced unlocks.\n\n" +
			"With --force-unlock --reason TEXT no command runs either: it reads the owners of the lock, and takes the lock\n" +
			"from them; with --fence only from the one with that fence, which --show prints. An owner that is granted the\n" +
			"lock meanwhile keeps it, even if the request arrives late. Use it for a holder that is gone or stuck: a live\n" +
			"holder continues until its next renewal, up to a third of its TTL later, at the same time as the next holder. The\n" +
			"store keeps the operator, the time and the reason for 90 days. Exit code: 0 done, 2 wrong usage, 3 no owner held\n" +
			"the lock, or the user has no right to do this, 4 the result is not known: check it with --show.",
		Example: "  cronce lock backup -- pg_dump shop\n" +
			"  cronce lock backup -- timeout -k 1 0 sh -c 'pg_dump shop | gzip > shop.gz'\n" +
			"  cronce lock deploy/shop --try --note \"alice: release 4.2\" -- ./deploy.sh\n" +
			"  cronce lock catalogue --shared -- ./export.sh\n" +
			"  cronce lock gateway --permits 3 -- ./call.sh\n" +
			"  cronce lock backup --tick '0 3 * * *' --zone Europe/Berlin -- pg_dump shop\n" +
			"  cronce lock import --once-per 1m -- ./import.sh\n" +
			"  cronce why lock/backup last\n" +
			"  cronce lock gateway --show\n" +
			"  cronce lock backup --force-unlock --reason 'host db-3 is gone, INC-4711'\n" +
			"  cronce lock gateway --force-unlock --fence 1795207852937123 --reason 'pod 7 hangs'",
		Args: func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.force {
				return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error {
					return lockStore{s}.forceLock(ctx, cmd.OutOrStdout(), f.forcing(args[0]), f.output)
				})
			}
			if f.show {
				return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error {
					return lockStore{s}.showLock(ctx, cmd.OutOrStdout(), args[0], f.output)
				})
			}
			return runLocked(cmd, args[0], args[1:], f)
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().BoolVarP(&f.try, "try", "n", false, "do not wait if another holds the lock")
	cmd.Flags().BoolVarP(&f.shared, "shared", "s", false, "hold the lock together with others that share it")
	cmd.Flags().IntVar(&f.permits, "permits", 1, "the number of holders at the same time; the smallest number of all holders applies")
	cmd.Flags().BoolVar(&f.show, "show", false, "print the holders of the lock and the number of processes that wait for it, and run nothing")
	cmd.Flags().BoolVar(&f.force, "force-unlock", false, "take the lock from all current holders, and run nothing")
	cmd.Flags().StringVar(&f.reason, "reason", "", "reason for the forced unlock: up to 200 bytes, which --show prints")
	cmd.Flags().StringVar(&f.who, "who", "", "name of the person who forces the unlock (default: the user of this machine)")
	cmd.Flags().Int64Var(&f.fence, "fence", 0, "free by force only the holder with this fence (default: all current holders)")
	command.OutputFlag(cmd, &f.output)
	cmd.Flags().DurationVarP(&f.wait, "wait", "w", 0, "how long to wait for the lock; 0: forever")
	cmd.Flags().IntVarP(&f.conflict, "conflict-exit-code", "E", exit.Refused, "the exit code if another owner held the lock for too long, with --try or --wait")
	cmd.Flags().DurationVar(&f.ttl, "ttl", lock.DefaultTTL, "how long the lock outlives a cronce that died")
	cmd.Flags().StringVar(&f.note, "note", "", "text that --show prints next to the owner, such as a purpose or a person; up to 64 bytes")
	cmd.Flags().BoolVar(&f.secrets, "with-secrets", false, "keep the variables with cronce's secrets in the command's environment, for a command that runs cronce")
	cmd.Flags().StringVar(&f.tick, "tick", "", "run the command once for each tick of this spec, over all machines that call it")
	cmd.Flags().DurationVar(&f.oncePer, "once-per", 0, "like --tick '@every DURATION': the ticks are counted from 1970-01-01T00:00:00Z")
	cmd.Flags().StringVar(&f.zone, "zone", "", "the zone of the fields of --tick (default: UTC)")
	cmd.Flags().DurationVar(&f.hold, "hold", 0, "the least time to keep the lock, up to 24h")
	cmd.Flags().DurationVar(&f.grace, "grace", 2*time.Second, "how long after SIGTERM the command gets SIGKILL")
	return cmd
}

// runFlags require a command to run.
var runFlags = []string{"try", "wait", "conflict-exit-code", "shared", "permits", "ttl", "grace", "with-secrets", "note", "tick", "once-per", "zone", "hold"}

func (f *lockFlags) check(cmd *cobra.Command, args []string) error {
	switch {
	case f.force && (f.show || len(args) != 1 || slices.ContainsFunc(runFlags, cmd.Flags().Changed)):
		return exit.Usagef("lock: with --force-unlock give one key and --reason, as in lock backup --force-unlock --reason 'db-3 is gone'")
	case f.force && f.reason == "":
		return exit.Usagef("lock: --force-unlock needs a --reason, which is kept")
	case f.force && cmd.Flags().Changed("fence") && f.fence < 1:
		return exit.Usagef("lock: --fence is %d, must be 1 to %d, as --show prints it", f.fence, int64(driver.MaxNumber))
	case f.force:
		asked := f.forcing(args[0])
		asked.ID = "checked"
		return exit.Usage(driver.CheckForce(&asked))
	case slices.ContainsFunc(forceFlags, cmd.Flags().Changed):
		return exit.Usagef("lock: --reason, --who and --fence are for --force-unlock")
	case f.show && (len(args) != 1 || slices.ContainsFunc(runFlags, cmd.Flags().Changed)):
		return exit.Usagef("lock: with --show give one key and nothing else, as in lock backup --show")
	case f.show:
		return exit.Usage(driver.CheckKey(args[0]))
	case cmd.ArgsLenAtDash() != 1 || len(args) < 2:
		return exit.Usagef("lock: give one key, then -- and a command, as in lock backup -- pg_dump shop")
	case f.try && f.wait != 0:
		return exit.Usagef("lock: --try does not wait, --wait is %v: give one of them", f.wait)
	case f.wait < 0:
		return exit.Usagef("lock: --wait is %v, must be 0 or more", f.wait)
	case f.conflict < 0 || f.conflict > 255:
		return exit.Usagef("lock: --conflict-exit-code is %d, must be 0 to 255", f.conflict)
	case f.grace <= 0:
		return exit.Usagef("lock: --grace is %v, must be more than 0", f.grace)
	case f.hold < 0 || f.hold > mostHold:
		return exit.Usagef("lock: --hold is %v, must be 0 to %v", f.hold, mostHold)
	case f.shared && cmd.Flags().Changed("permits"):
		return exit.Usagef("lock: --shared has no bound, --permits is %d: give one of them", f.permits)
	case f.permits < 1 || f.permits >= lock.NoLimit:
		return exit.Usagef("lock: --permits is %d, must be 1 to %d", f.permits, lock.NoLimit-1)
	}
	if err := f.checkTicks(cmd, args[0]); err != nil {
		return err
	}
	if err := errors.Join(driver.CheckKey(args[0]), driver.CheckTTL(f.ttl), driver.CheckNote(f.note)); err != nil {
		return exit.Usage(err)
	}
	if _, err := exec.LookPath(args[1]); err != nil {
		return notRun(err)
	}
	return nil
}

// forcing returns the request for a forced unlock.
func (f *lockFlags) forcing(key string) driver.ForceRequest {
	return driver.ForceRequest{Key: key, By: command.Caller(f.who), Reason: f.reason, From: f.fence, To: f.fence}
}

// notRun returns the error for a command that could not be run, with the exit code of shells.
func notRun(err error) error {
	code := exit.NotExecutable
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = exit.NotFound
	}
	return exit.With(code, fmt.Errorf("lock: %w", err))
}

// A lockStore is the store of the command lock.
type lockStore struct{ *clients.Store }

func runLocked(cmd *cobra.Command, key string, argv []string, f lockFlags) error {
	c, err := command.LoadConfig(cmd)
	if err != nil {
		return err
	}
	opened, err := clients.NewStore(c)
	if err != nil {
		return err
	}
	s := lockStore{opened}
	defer s.Close()
	command.OutlivePipes()
	ctx, now, stop := command.WithTwoSignals(cmd.Context(), command.NotIgnored(syscall.SIGQUIT)...)
	defer stop()
	environ := os.Environ()
	if !f.secrets {
		environ = c.ChildEnv(environ)
	}
	if f.schedule != nil {
		return s.runTick(ctx, now, cmd, key, argv, environ, f)
	}
	waiting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	over := s.reportDoubt(waiting, cmd.ErrOrStderr(), key, giveUp)
	lease, err := s.lease(ctx, waiting, key, f)
	over()
	if err != nil {
		return err
	}
	until := time.Now().Add(f.hold)
	err = execute(lease.Context(), now, lease.Fence(), argv, environ, f.grace, cmd)
	early := f.hold > 0 && lease.Context().Err() == nil
	hold(lease, until)
	ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer stop()
	lost := errors.Is(context.Cause(lease.Context()), lock.ErrLost)
	switch released := lease.Release(ctx); {
	case lost || errors.Is(released, lock.ErrLost):
		if early {
			return fmt.Errorf("lock %q was lost after the command ended: others may have had it before --hold was over", key)
		}
		return fmt.Errorf("lock %q was lost: others may have had it before the command ended", key)
	case err == nil && released != nil:
		return s.Failed(released)
	}
	return err
}

// mostHold is the upper bound of --hold.
const mostHold = 24 * time.Hour

// releaseTimeout bounds the release; otherwise the lock ends with its TTL.
const releaseTimeout = 5 * time.Second

// lease acquires the lock, or returns the reason why it cannot. The bound of the wait begins after
// the check of the store, so that the time to connect does not count. The wait ends with waiting, and
// the lease's context with ctx.
func (s lockStore) lease(ctx, waiting context.Context, key string, f lockFlags) (*lock.Lease, error) {
	if err := s.fitForLocks(ctx); err != nil {
		return nil, err
	}
	wait := waiting
	if f.wait > 0 {
		var stop context.CancelFunc
		wait, stop = context.WithTimeout(waiting, f.wait)
		defer stop()
	}
	locker := lock.New(s.Driver, lockNode())
	o := lock.Options{TTL: f.ttl, Limit: f.limit(), Context: ctx, Note: f.note}
	lease, err := locker.TryAcquire(wait, key, o) // returns a refusal, after which Acquire would wait
	if err != nil && !f.try && !s.refuses(err) {
		lease, err = locker.Acquire(wait, key, o)
	}
	if err == nil {
		return lease, nil
	}
	undone, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer stop()
	left := locker.Wait(undone) // releases a lease that may have been granted, before the process ends
	if ctx.Err() == nil && waiting.Err() != nil {
		return nil, context.Cause(waiting) // the store refuses this process
	}
	if held, ok := errors.AsType[*lock.HeldError](err); ok {
		if ctx.Err() != nil {
			return nil, held // the command was stopped while it waited
		}
		return nil, exit.With(f.conflict, held)
	}
	if ctx.Err() != nil && left == nil {
		if doubt := s.unsure(undone, key); doubt != nil {
			return nil, doubt // the store may have granted the lock
		}
		return nil, fmt.Errorf("lock %q: stopped before it was acquired", key)
	}
	return nil, s.Failed(err)
}

// fitTime bounds the check of a store.
const fitTime = 3 * time.Second

// fitForLocks returns an error for a store that cannot keep locks, or that refuses the user. It
// ignores a store that does not answer, because the wait for the lock covers that. Unlike lock.Open
// it does not record the layout of the namespace, because this command uses no series.
func (s lockStore) fitForLocks(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, fitTime)
	defer stop()
	switch err := s.check(ctx); {
	case errors.Is(err, lock.ErrUnfit):
		return fmt.Errorf("%s: %w", s.Config.StoreName(), err)
	case err != nil && s.refuses(err):
		return s.Failed(err)
	}
	return nil
}

// check requests the faults of the store.
func (s lockStore) check(ctx context.Context) error {
	if s.Client != nil {
		_, err := s.CheckRedis(ctx)
		return err
	}
	_, err := s.Driver.CheckStore(ctx)
	return err
}

// errUnstarted is the error of a command whose lease ended, or that was stopped, before its start.
var errUnstarted = errors.New("lock: stopped before the command was started")

// execute runs the command until it ends, or until it is stopped because ctx, the context of its
// lease, has ended. When now ends too, the command is killed.
func execute(ctx, now context.Context, fence int64, argv, environ []string, grace time.Duration, s streams) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = s.InOrStdin(), terminal.Direct(s.OutOrStdout()), s.ErrOrStderr()
	c.Env = append(environ, config.FenceEnv+"="+strconv.FormatInt(fence, 10))
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = grace
	c.SysProcAttr = childprocess.InOurGroup()
	if err := c.Start(); err != nil {
		if ctx.Err() != nil {
			return errUnstarted
		}
		return notRun(err)
	}
	defer context.AfterFunc(now, func() { _ = c.Process.Kill() })()
	err := c.Wait()
	if err == nil {
		return nil
	}
	code := c.ProcessState.ExitCode()
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	if code == exit.Fine { // the command ended with code 0 after the request to stop
		return nil
	}
	return exit.Printed(code, fmt.Sprintf("the command ended with %d", code))
}

// streams are the input and the outputs of a command.
type streams interface {
	InOrStdin() io.Reader
	OutOrStdout() io.Writer
	ErrOrStderr() io.Writer
}
