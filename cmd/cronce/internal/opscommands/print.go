package opscommands

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/ops"
)

// A row has the cells of a line of a table.
type row [][]any

// print writes the listing in a format.
func (l *listing) print(w io.Writer, output string) error {
	switch output {
	case command.OutputJSON:
		return terminal.PrintJSON(w, l.value)
	case command.OutputYAML:
		return terminal.PrintYAML(w, l.value)
	case command.OutputName:
		for _, name := range l.names {
			fmt.Fprintln(w, terminal.Printable(name))
		}
		return nil
	}
	if l.text != "" {
		fmt.Fprintln(w, terminal.PrintableText(l.text))
	}
	if l.table == nil {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range l.table(output == command.OutputWide) {
		terminal.PrintRow(table, cells...)
	}
	if err := table.Flush(); err != nil || l.foot == "" {
		return err
	}
	_, err := fmt.Fprintln(w, "\n"+l.foot)
	return err
}

// clearScreen moves the cursor to the corner and clears the screen below it.
const clearScreen = "\x1b[H\x1b[J"

// follow prints the listing at each change until a signal ends it.
func (f *shown) follow(cmd *cobra.Command, list func(ctx context.Context, s *clients.Store, now *ops.Snapshot) (listing, error)) error {
	c, err := command.LoadConfig(cmd)
	if err != nil {
		return err
	}
	s, err := clients.NewStore(c)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := command.WithSignals(cmd.Context())
	defer stop()
	p := projection(s)
	defer p.Watch()()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx)
	}()
	defer func() {
		stop()
		<-ended
	}()
	w, seen, last := cmd.OutOrStdout(), p.Peek(), ""
	shown := map[string]bool{}
	for {
		now, err := p.Await(ctx, seen)
		if err != nil {
			return nil // a signal
		}
		seen = now
		l, err := list(ctx, s, now)
		if err != nil && exit.Code(err, true) == exit.WrongUsage {
			return err
		}
		if err == nil && l.items != nil {
			if shown, err = l.printNew(w, shown); err != nil {
				return err
			}
			last = ""
			continue
		}
		text := f.frame(w, &l, err)
		key := text
		if err == nil && !terminal.IsTerminal(w) { // ages and leases change all the time and do not count as changes
			key = fmt.Sprint(l.key)
		}
		if key != last {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
		last = key
	}
}

// printNew writes the items that were not shown before, each as a line of JSON. It returns the keys of
// all items.
func (l *listing) printNew(w io.Writer, shown map[string]bool) (map[string]bool, error) {
	all := make(map[string]bool, len(l.items))
	var fresh []any
	for _, i := range l.items {
		if all[i.key] = true; !shown[i.key] {
			fresh = append(fresh, i.value)
		}
	}
	for _, value := range fresh[max(0, len(fresh)-l.most):] {
		if err := terminal.PrintJSONLine(w, value); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// frame returns the text for one snapshot.
func (f *shown) frame(w io.Writer, l *listing, err error) string {
	var b strings.Builder
	human := terminal.IsTerminal(w) && (f.output == command.OutputText || f.output == command.OutputWide)
	switch {
	case err != nil && human:
		fmt.Fprintln(&b, terminal.PrintableText(err.Error()))
	case err != nil:
		_ = terminal.PrintJSONLine(&b, map[string]string{"error": err.Error()})
	case !human:
		_ = terminal.PrintJSONLine(&b, l.value)
		return b.String()
	default:
		_ = l.print(&b, f.output)
	}
	if terminal.IsTerminal(w) {
		return clearScreen + b.String()
	}
	return b.String()
}
