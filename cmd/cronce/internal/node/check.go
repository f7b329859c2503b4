package node

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/demo"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/spec"
)

// DryRun finds all faults of the jobs without reading secrets and without connecting. The settings
// have the enabled jobs. The remarks are the result of Node.Remarks, and one remark for each
// disabled job.
func DryRun(c *config.Config) (settings scheduler.Config, remarks []string, err error) {
	return dryRun(c, false)
}

func dryRun(c *config.Config, demo bool) (settings scheduler.Config, remarks []string, err error) {
	unused := &redis.Options{Addr: "unused"}
	redislock.Harden(unused) // otherwise the client would resolve a host name
	client := redis.NewClient(unused)
	defer client.Close()
	runner, err := newRunner(nil)
	if err != nil {
		return scheduler.Config{}, nil, err
	}
	settings, faults := schedulerConfig(c, resources{client: client, out: io.Discard, demo: demo, runner: runner, dry: true})
	store, err := redislock.New(client, redislock.Options{})
	if err == nil {
		settings.Store = store
		var n *scheduler.Node
		if n, err = scheduler.New(settings); err == nil {
			off := disabled(c, settings.Jobs)
			err = n.Remove(off...)
			remarks = n.Remarks()
			settings.Jobs = slices.DeleteFunc(settings.Jobs, func(j scheduler.Job) bool { return slices.Contains(off, j.Name) })
			for _, name := range off {
				remarks = append(remarks, name+": is not enabled: nodes with this file do not run it, and others may")
			}
		}
	}
	return settings, remarks, c.Locate(errors.Join(faults, err))
}

// checkConfig prints the next ticks of the jobs of a configuration.
func checkConfig(w io.Writer, c *config.Config, now time.Time) error {
	settings, remarks, err := DryRun(c)
	if err != nil {
		return command.ConfigError(err)
	}
	fmt.Fprintf(w, "namespace %s in %s\n\n", c.Namespace, terminal.Printable(c.StoreName()))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tSPEC\tZONE\tNEXT TICKS, UTC")
	for i := range settings.Jobs {
		checkRow(table, &settings.Jobs[i], settings.Zone, now)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	printAbout(w, c)
	return printRemarks(w, settings, append(remarks, missingPrograms(c)...), now)
}

func checkRow(w io.Writer, job *scheduler.Job, zone *time.Location, now time.Time) {
	s, err := parse(job, zone)
	if err != nil {
		return // newScheduler has refused it
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t", terminal.Printable(job.Name), terminal.Printable(s.Text()), s.Zone())
	day := ""
	at := now
	for range 3 {
		if at = s.Next(at).UTC(); at.IsZero() {
			break
		}
		if date := at.Format(time.DateOnly); date != day {
			fmt.Fprintf(w, "%s ", date)
			day = date
		}
		fmt.Fprintf(w, "%s  ", at.Format(time.TimeOnly))
	}
	fmt.Fprintln(w)
}

// parse reads the spec of a job.
func parse(job *scheduler.Job, zone *time.Location) (*spec.Schedule, error) {
	text, err := spec.ForJob(job.Spec, job.Name)
	if err != nil {
		return nil, err
	}
	return spec.Parse(text, zone)
}

// printAbout prints the texts about jobs.
func printAbout(w io.Writer, c *config.Config) {
	for i := range c.Jobs {
		j := &c.Jobs[i]
		for n, line := range j.About() {
			if n == 0 {
				fmt.Fprintf(w, "\n%s\n", terminal.Printable(cmp.Or(j.Name, j.Kind)))
			}
			fmt.Fprintf(w, "  %s\n", terminal.Printable(line))
		}
	}
}

func printRemarks(w io.Writer, settings scheduler.Config, remarks []string, now time.Time) error {
	for _, remark := range remarks {
		fmt.Fprintf(w, "note: %s\n", terminal.Printable(remark))
	}
	for i := range settings.Jobs {
		s, err := parse(&settings.Jobs[i], settings.Zone)
		if err != nil {
			continue
		}
		for _, remark := range s.Remarks() {
			fmt.Fprintf(w, "note: %s: %s\n", terminal.Printable(settings.Jobs[i].Name), terminal.Printable(remark))
		}
		if s.Next(now).IsZero() {
			then := "and the job never runs"
			if !s.At().IsZero() {
				then = "and the job runs only if it is new to the store and the tick inside its deadline"
			}
			fmt.Fprintf(w, "note: %s: finished: spec %q has no tick left, %s\n", settings.Jobs[i].Name, s.Text(), then)
		}
	}
	_, err := fmt.Fprintln(w, "\nThe configuration is fine.")
	return err
}

// LoadConfig reads the configuration of a node and checks its jobs as well.
func LoadConfig(cmd *cobra.Command) (*config.Config, error) { return Flags{}.load(cmd) }

// load is LoadConfig for a node with flags. It also prints misspelt variables, because one may be the
// cause of a fault. A node that starts logs them instead, like all warnings.
func (f Flags) load(cmd *cobra.Command) (*config.Config, error) {
	c, err := f.read(cmd, nil)
	if c != nil {
		_, _, faults := dryRun(c, f.demo)
		if err = errors.Join(err, faults); err != nil {
			command.WarnOfVariables(cmd, c)
		}
	}
	if err != nil {
		return nil, command.ConfigError(err)
	}
	c.OnPlaintext(command.WarnTo(cmd))
	return c, nil
}

// read reads the configuration of a node; former was read before, or is nil.
func (f Flags) read(cmd *cobra.Command, former *config.Config) (*config.Config, error) {
	source, err := command.Source(cmd)
	if err != nil {
		return nil, err
	}
	if f.demo {
		source.Name, source.Data = demo.FileName, demo.File
	}
	source.Former = former
	return config.Read(source, config.NodeOverrides, nil)
}
