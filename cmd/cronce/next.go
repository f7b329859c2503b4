package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/scheduler/spec"
)

// maxNext bounds the ticks that next prints.
const maxNext = 1000

type nextFlags struct {
	job    string
	n      int
	zone   string
	from   string
	output string
}

func nextCommand() *cobra.Command {
	var f nextFlags
	cmd := &cobra.Command{
		Use:   `next "<spec>"`,
		Short: "Print the next ticks of a spec, and the effect of daylight saving time on them",
		Example: `  cronce next "0/5 * * * * ?"
  cronce next "30 2 * * *" --tz Europe/Berlin --from 2026-03-27
  cronce next "CRON_TZ=Asia/Shanghai 0 9 * * 1-5" -n 3
  cronce next "0 0 18 LW * FRI#2 2027"
  cronce next "0 9 * * MON not_before=2026-12-07 every=2 exclude=2026-12-24..2027-01-01" --tz Europe/Berlin`,
		Args: oneSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			return next(cmd.OutOrStdout(), args[0], f, time.Now())
		},
	}
	cmd.Flags().IntVarP(&f.n, "count", "n", 10, "number of ticks, 1 to 1000")
	cmd.Flags().StringVar(&f.zone, "tz", "UTC", "time zone of a spec without one")
	cmd.Flags().StringVar(&f.job, "job", "", "name of the job, for a spec with H")
	cmd.Flags().StringVar(&f.from, "from", "", "print ticks after this time (RFC 3339, or \"2026-03-29 01:00\" in the zone; default now)")
	command.OutputFlag(cmd, &f.output)
	return cmd
}

// oneSpec refuses several arguments with a hint that quotes are missing.
func oneSpec(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Usagef(`next: got %s, want one spec: quote it, as in next "0/5 * * * * ?"`, terminal.Plural(len(args), "argument"))
	}
	return nil
}

func next(w io.Writer, text string, f nextFlags, now time.Time) error {
	if f.n < 1 || f.n > maxNext {
		return exit.Usagef("next: -n is %d, must be 1 to %d", f.n, maxNext)
	}
	zone, err := config.ParseZone(f.zone)
	if err != nil {
		return exit.Usagef("next: --tz %w", err)
	}
	if f.job != "" {
		if text, err = spec.ForJob(text, f.job); err != nil {
			return exit.Usagef("next: %w", err)
		}
	}
	s, err := spec.Parse(text, zone)
	if err != nil {
		return exit.Usagef("next: %w", err)
	}
	from := now
	if f.from != "" {
		if from, err = command.ParseTime(f.from, s.Zone()); err != nil {
			return exit.Usagef("next: --from %w", err)
		}
	}
	ticks := ticksAfter(s, from, f.n)
	if f.output == command.OutputJSON {
		return terminal.PrintJSON(w, nextReport{Spec: s.Text(), Zone: s.Zone().String(), Remarks: s.Remarks(), Ticks: ticks})
	}
	if len(ticks) == 0 {
		fmt.Fprintf(w, "note: no tick after %s%s\n", from.In(s.Zone()).Format(time.RFC3339), finished(s, from))
	}
	return printNext(w, s, ticks, now)
}

// finished describes when the last tick of a spec without further ticks was. It returns "" if the
// spec never had one.
func finished(s *spec.Schedule, from time.Time) string {
	last := s.Prev(from)
	if last.IsZero() {
		return ""
	}
	return ": the spec is finished, its last tick was " + last.Format(time.RFC3339)
}

type nextReport struct {
	Spec    string     `json:"spec"`
	Zone    string     `json:"zone"`
	Remarks []string   `json:"remarks,omitempty"`
	Ticks   []nextTick `json:"ticks"`
}

type nextTick struct {
	Tick   time.Time `json:"tick"`
	Remark string    `json:"remark,omitempty"`
}

func ticksAfter(s *spec.Schedule, from time.Time, n int) []nextTick {
	ticks := []nextTick{} // not nil, so that JSON has an empty list
	for range n {
		from = s.Next(from)
		if from.IsZero() {
			break
		}
		ticks = append(ticks, nextTick{from, s.Remark(from)})
	}
	return ticks
}

func printNext(w io.Writer, s *spec.Schedule, ticks []nextTick, now time.Time) error {
	for _, remark := range s.Remarks() {
		fmt.Fprintf(w, "note: %s\n", terminal.Printable(remark))
	}
	header, utc := s.Zone().String(), func(time.Time) string { return "" }
	if header != time.UTC.String() { // otherwise both columns would be equal
		header += "\tUTC"
		utc = func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + "\t" }
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s\tFROM NOW\tREMARK\n", header)
	for _, t := range ticks {
		fmt.Fprintf(table, "%s\t%s%s\t%s\n", t.Tick.Format("Mon 2006-01-02 15:04:05 -0700"), utc(t.Tick), fromNow(t.Tick, now), t.Remark)
	}
	return table.Flush()
}

// fromNow rounds the time from now to t for a person.
func fromNow(t, now time.Time) string {
	d := t.Sub(now)
	switch {
	case d < 0:
		return "past"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", (t.Unix()-now.Unix())/(24*60*60)) // a Duration ends after 292 years
}
