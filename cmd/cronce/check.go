package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/spec"
)

// dryRun finds everything that is wrong with the jobs, without secrets and
// without connecting.
func dryRun(c *config.Config) (scheduler.Config, error) {
	unused := &redis.Options{Addr: "unused"}
	redislock.Harden(unused) // else it would look up its name when it is made
	client := redis.NewClient(unused)
	defer client.Close()
	shop, err := openShop(c, client, true)
	if err != nil {
		return scheduler.Config{}, err
	}
	defer shop.close()
	settings, faults := schedulerConfig(c, parts{client: client, out: io.Discard, shop: shop, dry: true})
	store, err := redislock.New(client, redislock.Options{})
	if err == nil {
		settings.Store = store
		_, err = scheduler.New(settings)
	}
	return settings, c.Locate(errors.Join(faults, err))
}

// checkConfig prints what the jobs of a configuration would do next.
func checkConfig(w io.Writer, c *config.Config, now time.Time) error {
	settings, err := dryRun(c)
	if err != nil {
		return refused(err)
	}
	fmt.Fprintf(w, "namespace %s in %s\n\n", c.Namespace, terminal.Printable(c.RedisName()))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tSPEC\tZONE\tNEXT TICKS, UTC")
	for i := range settings.Jobs {
		checkRow(table, &settings.Jobs[i], settings.Zone, now)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printRemarks(w, settings, now)
}

func checkRow(w io.Writer, job *scheduler.Job, zone *time.Location, now time.Time) {
	s, err := spec.Parse(job.Spec, zone)
	if err != nil {
		return // newScheduler has refused it
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t", terminal.Printable(job.Name), terminal.Printable(s.Text()), s.Zone())
	day := ""
	for _, t := range ticksAfter(s, now, 3) {
		at := t.Tick.UTC()
		if date := at.Format(time.DateOnly); date != day {
			fmt.Fprintf(w, "%s ", date)
			day = date
		}
		fmt.Fprintf(w, "%s  ", at.Format(time.TimeOnly))
	}
	fmt.Fprintln(w)
}

func printRemarks(w io.Writer, settings scheduler.Config, now time.Time) error {
	for i := range settings.Jobs {
		s, err := spec.Parse(settings.Jobs[i].Spec, settings.Zone)
		if err != nil {
			continue
		}
		for _, remark := range s.Remarks() {
			fmt.Fprintf(w, "note: %s: %s\n", terminal.Printable(settings.Jobs[i].Name), terminal.Printable(remark))
		}
		if s.Next(now).IsZero() {
			fmt.Fprintf(w, "note: %s: spec %q has no tick left: the job never runs\n", settings.Jobs[i].Name, s.Text())
		}
	}
	_, err := fmt.Fprintln(w, "\nThe configuration is fine.")
	return err
}
