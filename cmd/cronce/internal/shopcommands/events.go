package shopcommands

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/stock"
)

const maxShownEvents = 10_000

func eventsCommand() *cobra.Command {
	var n int
	var failed bool
	var output string
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List the last events of orders, and the state of each target",
		Long: "List the last events of orders, and for each target of shop.events how many it does not have yet, since\n" +
			"when, and why. With --failed, list the events that targets have refused because of their content, oldest first: each\n" +
			"is kept until it is tried again (retry) or given up (drop).\n\n" +
			"Exit codes: 0 fine; 1 with --failed, there are some; 4 not known: the database does not answer.",
		Example: "  cronce shop events -n 50\n  cronce shop events --failed -o json\n  cronce shop events retry webhook 17\n  cronce shop events drop webhook 17 --reason 'a test order'\n" +
			"  cronce shop events skip webhook 18 --reason 'its handler fails'",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n < 1 || n > maxShownEvents {
				return exit.Usagef("shop events: -n is %d, must be 1 to %d", n, maxShownEvents)
			}
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				if failed {
					return listAside(ctx, cmd.OutOrStdout(), s, n, output)
				}
				return listEvents(ctx, cmd.OutOrStdout(), s, n, output)
			})
		},
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	cmd.Flags().IntVarP(&n, "count", "n", 20, "how many events at most")
	cmd.Flags().BoolVar(&failed, "failed", false, "the events that targets have refused")
	command.OutputFlag(cmd, &output)
	cmd.AddCommand(eventsRetryCommand(), eventsDropCommand(), eventsSkipCommand())
	return cmd
}

// An EventsReport is the JSON of the events and targets.
type EventsReport struct {
	Events  []json.RawMessage `json:"events"` // the latest first
	Targets []targetReport    `json:"targets"`
}

type targetReport struct {
	Target   string `json:"target"`
	Seq      int64  `json:"seq"`
	Lag      int64  `json:"lag"` // events
	BehindMS int64  `json:"behind_ms"`
	Aside    int64  `json:"aside"`
	Tries    int64  `json:"tries"`
	NextMS   int64  `json:"next_ms"` // until the next delivery
	Trouble  string `json:"trouble,omitempty"`
	SeenAt   string `json:"seen_at"`
}

func listEvents(ctx context.Context, w io.Writer, s *stock.Sale, n int, output string) error {
	events, err := s.Events(ctx, n)
	if err != nil {
		return err
	}
	targets, err := s.Targets(ctx)
	if err != nil {
		return err
	}
	if output == command.OutputJSON {
		r := EventsReport{Events: []json.RawMessage{}, Targets: []targetReport{}}
		for i := range events {
			r.Events = append(r.Events, events[i].Payload)
		}
		for _, t := range targets {
			r.Targets = append(r.Targets, targetReport{Target: t.Name, Seq: t.Seq, Lag: t.Lag, BehindMS: t.Behind.Milliseconds(), Aside: t.Aside,
				Tries: t.Tries, NextMS: t.Wait.Milliseconds(), Trouble: t.Trouble, SeenAt: terminal.RFC3339(t.Seen.UnixMilli())})
		}
		return terminal.PrintJSON(w, r)
	}
	if err := printEvents(w, events); err != nil {
		return err
	}
	return printTargets(w, targets)
}

func printEvents(w io.Writer, events []stock.Event) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	terminal.PrintRow(table, "SEQ", "EVENT", "ORDER", "AT")
	for i := range events {
		e := &events[i]
		terminal.PrintRow(table, e.Seq, e.Kind, e.Order, terminal.RFC3339(e.At.UnixMilli()))
	}
	return table.Flush()
}

func printTargets(w io.Writer, targets []stock.TargetStatus) error {
	if len(targets) == 0 {
		_, err := fmt.Fprintln(w, "\nThere is no target yet, so no events are written: set one in shop.events.")
		return err
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	terminal.PrintRow(table, "TARGET", "HAS", "LAG", "BEHIND", "ASIDE", "TROUBLE")
	for _, t := range targets {
		trouble := terminal.Dash(t.Trouble)
		if t.Trouble != "" {
			again := fmt.Sprintf("asked again in %v", t.Wait.Round(time.Second))
			if t.Tries > 0 { // with 0 tries the wait concerns an event that was put aside
				again = terminal.Plural(int(t.Tries), "time") + ", " + again
			}
			trouble = t.Trouble + " (" + again + ")"
		}
		terminal.PrintRow(table, t.Name, t.Seq, t.Lag, t.Behind.Round(time.Second), t.Aside, trouble)
	}
	return table.Flush()
}

// An asideReport is the JSON of an event that a target has refused.
type asideReport struct {
	Target string          `json:"target"`
	Seq    int64           `json:"seq"`
	Reason string          `json:"reason"`
	Aside  string          `json:"aside_at"`
	Again  bool            `json:"again"`
	Event  json.RawMessage `json:"event"`
}

func listAside(ctx context.Context, w io.Writer, s *stock.Sale, n int, output string) error {
	all, err := s.Aside(ctx, n)
	if err != nil {
		return err
	}
	if output == command.OutputJSON {
		reports := make([]asideReport, len(all))
		for i := range all {
			e := &all[i]
			reports[i] = asideReport{e.Target, e.Seq, e.Reason, terminal.RFC3339(e.Aside.UnixMilli()), e.Again, e.Payload}
		}
		err = terminal.PrintJSON(w, reports)
	} else {
		err = printAside(w, all)
	}
	if err == nil && len(all) > 0 {
		err = exit.Printed(exit.Failed, "some events were refused")
	}
	return err
}

func printAside(w io.Writer, all []stock.AsideEvent) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	terminal.PrintRow(table, "TARGET", "SEQ", "EVENT", "ORDER", "PUT ASIDE", "REASON")
	for i := range all {
		e := &all[i]
		reason := e.Reason
		if e.Again {
			reason += " (to be tried again)"
		}
		terminal.PrintRow(table, e.Target, e.Seq, e.Kind, e.Order, terminal.RFC3339(e.Aside.UnixMilli()), reason)
	}
	return table.Flush()
}

func eventsRetryCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "retry TARGET [SEQ]",
		Short: "Deliver a refused event again, or with --all each refused event of the target",
		Args: func(_ *cobra.Command, args []string) error {
			if all && len(args) == 1 || !all && len(args) == 2 {
				return nil
			}
			return exit.Usagef("shop events retry: got %d arguments, want a target and an event's SEQ, or a target and --all", len(args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := seqOf(args[1:])
			if err != nil {
				return err
			}
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				n, err := s.TryAside(ctx, args[0], seq)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s to be tried again\n", terminal.Printable(args[0]), terminal.Plural(n, "event"))
				return err
			})
		},
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	cmd.Flags().BoolVar(&all, "all", false, "each event that the target has refused")
	return cmd
}

func eventsDropCommand() *cobra.Command {
	return oneEventCommand("drop", "Give up a refused event; the reason is recorded", stock.DropEvent, (*stock.Sale).DropAside, "dropped")
}

func eventsSkipCommand() *cobra.Command {
	cmd := oneEventCommand("skip", "Put the next event of a target aside, which blocks the others; the reason is recorded", stock.SkipEvent, (*stock.Sale).SkipEvent, "put aside")
	cmd.Long = "Put the next event of a target aside, as if the target had refused it, so that the events behind it are\n" +
		"delivered. It is listed with --failed, until it is tried again (retry) or given up (drop). SEQ is one more\n" +
		"than what the target HAS: see 'cronce shop events'. It helps only where the target refuses this one event:\n" +
		"a target that is down does not take the event behind it either.\n\n" +
		"Exit codes: 0 done; 3 it is not the next event of the target; 4 not known: the database does not answer."
	return cmd
}

// oneEventCommand makes a command for a decision about one event of a target.
func oneEventCommand(verb, short string, action stock.Action, decide func(*stock.Sale, context.Context, string, int64, stock.Decision) error, done string) *cobra.Command {
	var by operator
	cmd := &cobra.Command{
		Use:   verb + " TARGET SEQ",
		Short: short,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return exit.Usagef("shop events %s: got %d arguments, want a target and an event's SEQ", verb, len(args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := seqOf(args[1:])
			if err != nil {
				return err
			}
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				d := by.decision(action, "")
				if err := decide(s, ctx, args[0], seq, d); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: event %d %s, recorded for %s\n", terminal.Printable(args[0]), seq, done, terminal.Printable(d.By))
				return err
			})
		},
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	by.flags(cmd)
	return cmd
}

// seqOf parses the number of an event; 0 without one.
func seqOf(args []string) (int64, error) {
	if len(args) == 0 {
		return 0, nil
	}
	seq, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || seq < 1 {
		return 0, exit.Usagef("shop events: SEQ is %s, must be the number of an event", strictyaml.Quote(args[0]))
	}
	return seq, nil
}
