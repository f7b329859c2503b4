package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/internal/terminal"
)

// several is the part of a help text about several jobs.
const several = "A pattern has *, ? or [a-z]. Retired jobs are left out: name them one by one. On a terminal the command lists\n" +
	"several jobs first, and asks.\n\n"

// selected returns the jobs that the arguments name. A retired job counts only by its own name.
func (f *pauseFlags) selected(ctx context.Context, s *clients.Store, args []string) ([]string, error) {
	only := ""
	if !f.all && !(f.many && isPattern(args[0])) {
		only = args[0]
	}
	jobs, err := s.Jobs(ctx, only)
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, s.NoRecord()
	}
	if only != "" {
		return jobs, nil
	}
	if f.all {
		return unretired(ctx, s, jobs)
	}
	if _, err := path.Match(args[0], ""); err != nil {
		return nil, exit.Usagef("%s is no pattern: %w", strictyaml.Quote(args[0]), err)
	}
	jobs = slices.DeleteFunc(jobs, func(job string) bool {
		matches, _ := path.Match(args[0], job)
		return !matches
	})
	if len(jobs) == 0 {
		return nil, exit.Usagef("no job of namespace %q matches %s", s.Config.Namespace, strictyaml.Quote(args[0]))
	}
	return unretired(ctx, s, jobs)
}

// unretired returns the jobs without those that are retired.
func unretired(ctx context.Context, s *clients.Store, jobs []string) (left []string, err error) {
	for i, state := range s.Front().ReadSeries(ctx, jobs) {
		switch {
		case state.Err != nil:
			return nil, s.Failed(state.Err)
		case !state.Retired():
			left = append(left, jobs[i])
		}
	}
	if len(left) == 0 {
		return nil, exit.With(exit.Refused, errors.New("all these jobs are retired: name one of them"))
	}
	return left, nil
}

// isPattern reports whether an argument is a pattern. The names of jobs have no such characters.
func isPattern(text string) bool { return strings.ContainsAny(text, "*?[") }

// listed is the number of jobs that the question names.
const listed = 20

// confirmed asks on a terminal whether several jobs are to be changed; see agreed. In a script it
// asks nothing.
func (f *pauseFlags) confirmed(ctx context.Context, cmd *cobra.Command, jobs []string) (bool, error) {
	if len(jobs) == 1 || f.yes || !onTerminal(cmd) {
		return true, nil
	}
	names := make([]string, min(len(jobs), listed))
	for i := range names {
		names[i] = terminal.Printable(jobs[i])
	}
	more := ""
	if len(jobs) > listed {
		more = fmt.Sprintf(" and %d more", len(jobs)-listed)
	}
	return agreed(ctx, cmd, fmt.Sprintf("%s%s\n%s %d jobs?", strings.Join(names, ", "), more, strings.ToUpper(cmd.Name()[:1])+cmd.Name()[1:], len(jobs)))
}

// onTerminal reports whether a person can read a question of the command, and answer it.
func onTerminal(cmd *cobra.Command) bool {
	return terminal.IsTerminal(cmd.InOrStdin()) && terminal.IsTerminal(cmd.OutOrStdout())
}

// agreed asks a question on a terminal, and reports whether the answer is yes. If it is no, it prints that
// nothing was done. If ctx ends before there is an answer, it returns an error.
func agreed(ctx context.Context, cmd *cobra.Command, question string) (bool, error) {
	fmt.Fprint(cmd.OutOrStdout(), question+" [y/N] ")
	answers := make(chan string, 1)
	go func() { // a read from a terminal cannot be ended
		answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return true, nil
		}
		fmt.Fprintln(cmd.OutOrStdout(), "Nothing was done.")
		return false, nil
	case <-ctx.Done():
		fmt.Fprintln(cmd.OutOrStdout())
		return false, exit.With(exit.Failed, fmt.Errorf("%s: nothing was done: the question was not answered in time", cmd.Name()))
	}
}
