package lockcommand

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redact"
	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
	"github.com/cronce/cronce/scheduler/spec"
)

// heldFlags require a lock without ticks that is held.
var heldFlags = []string{"try", "wait", "conflict-exit-code", "shared", "permits", "note", "hold"}

// checkTicks refuses flags that contradict --tick and --once-per, and parses the schedule.
func (f *lockFlags) checkTicks(cmd *cobra.Command, key string) error {
	changed := cmd.Flags().Changed
	switch {
	case changed("tick") && changed("once-per"):
		return exit.Usagef("lock: --tick and --once-per both say when: give one of them")
	case changed("zone") && !changed("tick"):
		return exit.Usagef("lock: --zone is for --tick, which is not given")
	case !changed("tick") && !changed("once-per"):
		return nil
	}
	for _, name := range heldFlags {
		if changed(name) {
			return exit.Usagef("lock: --%s does not go with --tick and --once-per: the tick is decided once, and nothing waits for it", name)
		}
	}
	text := f.tick
	if changed("once-per") {
		text = "@every " + f.oncePer.String()
	}
	zone, err := config.ParseZone(f.zone)
	if err != nil {
		return exit.Usagef("lock: --zone %w", err)
	}
	if f.schedule, err = spec.Parse(text, zone); err != nil {
		if changed("once-per") {
			return exit.Usagef("lock: --once-per: %w", err)
		}
		return exit.Usagef("lock: --tick: %w: quote the spec, as in --tick '0 3 * * *'", err)
	}
	return exit.Usage(driver.CheckKey(seriesPrefix + key))
}

// runTick runs the command if this call gets the tick. If another call has it, runTick prints
// nothing.
func (s lockStore) runTick(ctx, now context.Context, cmd *cobra.Command, key string, argv, environ []string, f lockFlags) error {
	c := tickCall{store: s.Driver, refuses: s.refuses, node: lockNode(), key: seriesPrefix + key, schedule: f.schedule, ttl: f.ttl}
	a, err := c.claim(ctx)
	switch {
	case errors.Is(err, context.Canceled): // between two requests; a request that has no answer leaves doubt, also after a signal
		return fmt.Errorf("lock %q: stopped before the command was started", key)
	case errors.Is(err, lock.ErrUnfit):
		return fmt.Errorf("%s: %w", s.Config.StoreName(), err)
	case errors.Is(err, lock.ErrUnsupported):
		return exit.Usagef("lock: %s has no ticks: %w", s.Config.StoreName(), err)
	case err != nil:
		return s.Failed(fmt.Errorf("lock %q: %w", key, err))
	case a == nil:
		return nil
	case a.Kind == series.KindSkipped: // only one of the calls gets this answer
		fmt.Fprintf(cmd.ErrOrStderr(), "cronce: lock %q: the tick of %s is skipped: an earlier run is still alive\n", key, stamp(c.tick))
		return nil
	case a.Lease == nil:
		return nil
	}
	lease := a.Lease
	stop := context.AfterFunc(ctx, func() { lease.Cancel(context.Cause(ctx)) })
	defer stop()
	if err = errUnstarted; wait.Sleep(ctx, a.Wait) == nil && lease.Check() == nil {
		err = execute(lease.Context(), now, lease.Ref.Fence, argv, append(environ, config.TickEnv+"="+stamp(c.tick)), f.grace, cmd)
	}
	if errors.Is(err, errUnstarted) {
		return s.giveBack(lease, key, stamp(c.tick))
	}
	e := series.EndRequest{Outcome: series.OutcomeOK, OK: true}
	lost := errors.Is(context.Cause(lease.Context()), lock.ErrLost)
	switch {
	case lost:
		e = series.EndRequest{Outcome: series.OutcomeLost, Error: lock.ErrLost.Error()}
	case err != nil && errors.Is(context.Cause(lease.Context()), claimer.ErrCancelled):
		e = series.EndRequest{Outcome: series.OutcomeCancelled, Error: err.Error()}
	case err != nil:
		e = series.EndRequest{Outcome: series.OutcomeFailed, Error: err.Error()}
	}
	switch ended := end(s.Front(), lease, e); {
	case lost || errors.Is(ended, lock.ErrLost):
		return fmt.Errorf("lock %q was lost: the run of %s was not renewed before the command ended", key, stamp(c.tick))
	case err == nil && ended != nil:
		return s.Failed(ended)
	}
	return err
}

// giveBack gives back a tick whose command was not started: another call may run it.
func (s lockStore) giveBack(lease *claimer.Lease, key, tick string) error {
	lost := lease.Check() != nil
	switch err := end(s.Front(), lease, series.EndRequest{State: series.RunUnstarted, Outcome: series.OutcomeUnstarted}); {
	case lost || errors.Is(err, lock.ErrLost):
		return fmt.Errorf("lock %q was lost: the command of %s was not started", key, tick)
	case err != nil:
		return exit.Doubt(fmt.Errorf("lock %q: stopped before the command was started; whether the tick of %s was given back is not known: %w", key, tick, err))
	}
	return fmt.Errorf("lock %q: stopped before the command was started; the tick of %s was given back", key, tick)
}

// refuses reports whether the store refuses a request, so that a repeat is useless.
func (s lockStore) refuses(err error) bool {
	return exit.RefusedByStore(err) || s.Driver.Refuses(err)
}

// end ends a run, and repeats the request until the store has answered.
func end(front series.Front, lease *claimer.Lease, e series.EndRequest) error {
	if !lease.End() {
		return lock.ErrLost
	}
	ctx, stop := context.WithTimeout(context.Background(), releaseTimeout)
	defer stop()
	e.RunRef, e.Error = lease.Ref, series.ErrorText(redact.Head(e.Error, series.MaxErrorText))
	for again := false; ; again = true {
		switch a := front.ReleaseRuns(ctx, []series.EndRequest{e})[0]; {
		case a.Ended:
			return nil
		case a.Err == nil && !again:
			return lock.ErrLost
		case a.Err == nil: // the previous request may have settled it
			return errors.New("the run was settled, by this end or before it")
		case wait.Sleep(ctx, askAgain) != nil:
			return a.Err
		}
	}
}

// hold keeps a lock until an instant, unless its lease ends earlier.
func hold(lease *lock.Lease, until time.Time) {
	_ = wait.Sleep(lease.Context(), time.Until(until))
}
