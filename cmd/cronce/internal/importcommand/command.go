package importcommand

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/internal/terminal"
)

// Command returns the command import.
func Command() *cobra.Command {
	return command.Group("import", "Write a configuration from a crontab, or from CronJobs of Kubernetes", crontabCommand(), k8sCommand())
}

const ending = "\n\nThe configuration is printed; cronce node --check accepts it. Each job has its origin, and remarks on differences, as comments;\n" +
	"remarks are printed to stderr, too. What is not imported is named with its reason. Nothing is run.\n\n" +
	"Exit code: 0 all was imported, 1 some was not, 2 the input cannot be read, or has no jobs."

func crontabCommand() *cobra.Command {
	var o crontabOptions
	cmd := &cobra.Command{
		Use:   "crontab FILE|-",
		Short: "Write a configuration from a crontab",
		Long: "Write a configuration from a crontab: a job of kind exec for each of its lines.\n\n" +
			"A line that was in the crontabs of several machines then runs on only one node." + ending,
		Example: "  crontab -l | cronce config import crontab - > jobs.yaml\n" +
			"  cronce config import crontab /etc/crontab --zone Europe/Berlin > jobs.yaml",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.systemGiven = cmd.Flags().Changed("system")
			if o.zone == "" {
				o.zone, o.zoneFound = machineZone(), true
			}
			return run(cmd, args[0], o.zone, func(name string, data []byte) (*result, error) { return readCrontab(name, data, o), nil })
		},
	}
	cmd.Flags().StringVar(&o.zone, "zone", "", "zone of the specs (default: the zone of this machine)")
	cmd.Flags().BoolVar(&o.system, "system", false, "the sixth column is a user, as in /etc/crontab and /etc/cron.d (default: detected from the file)")
	return cmd
}

func k8sCommand() *cobra.Command {
	var o k8sOptions
	cmd := &cobra.Command{
		Use:   "k8s FILE|-",
		Short: "Write a configuration from CronJobs of Kubernetes",
		Long: "Write a configuration from CronJobs of Kubernetes, as YAML or JSON, one or many, or a List of them.\n\n" +
			"A job runs kubectl, which creates a Job from the CronJob. With --image-is-here it runs the command of the container\n" +
			"instead, for nodes that run in that image." + ending,
		Example: "  kubectl get cronjobs -o yaml | cronce config import k8s - > jobs.yaml\n" +
			"  cronce config import k8s cleanup.yaml --image-is-here > jobs.yaml",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd, args[0], o.zone, func(name string, data []byte) (*result, error) { return readK8s(name, data, o) })
		},
	}
	cmd.Flags().StringVar(&o.zone, "zone", "UTC", "zone of schedules without timeZone: the zone of the controller")
	cmd.Flags().BoolVar(&o.imageIsHere, "image-is-here", false, "run the commands of the containers: the nodes have the programs of their images")
	return cmd
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Usagef("%s: got %s, want one file, or - for the standard input", cmd.CommandPath(), terminal.Plural(len(args), "argument"))
	}
	return nil
}

// run reads a file, prints the configuration, and returns an error if some of the input was not imported.
func run(cmd *cobra.Command, name, zone string, read func(name string, data []byte) (*result, error)) error {
	if _, err := config.ParseZone(zone); err != nil {
		return exit.Usagef("config import: --zone %w", err)
	}
	name, data, err := input(cmd.InOrStdin(), name)
	if err != nil {
		return exit.Usagef("config import: %s: %w", name, err)
	}
	r, err := read(name, data)
	if err != nil {
		return exit.Usagef("config import: %w", err)
	}
	if len(r.jobs) == 0 {
		return exit.Usagef("config import: %s has no jobs, must have at least one", name)
	}
	text, err := r.configuration()
	if err != nil {
		return exit.Usagef("config import: the result is no configuration: %w", err)
	}
	if _, err := cmd.OutOrStdout().Write(text); err != nil {
		return err
	}
	r.report(cmd.ErrOrStderr())
	if n := len(r.refused()); n > 0 {
		return exit.Printed(exit.Failed, fmt.Sprintf("%d not imported", n))
	}
	return nil
}

// input reads the file, or the standard input if the name is "-".
func input(stdin io.Reader, name string) (shown string, data []byte, err error) {
	if name == "-" {
		data, err = io.ReadAll(io.LimitReader(stdin, strictyaml.MaxSize+1))
		if name = "stdin"; len(data) > strictyaml.MaxSize {
			err = fmt.Errorf("has more than %d bytes", strictyaml.MaxSize)
		}
		return name, data, err
	}
	data, err = boundedfile.Read(name, strictyaml.MaxSize)
	return terminal.Printable(name), data, err
}

// report prints the remarks, the lines that were not imported, and the counts.
func (r *result) report(w io.Writer) {
	for _, remark := range r.remarks {
		fmt.Fprintf(w, "note: %s\n", terminal.Printable(remark))
	}
	for i := range r.jobs {
		for _, remark := range r.jobs[i].remarks {
			fmt.Fprintf(w, "note: %s: %s: %s\n", r.jobs[i].origin, terminal.Printable(r.jobs[i].name), terminal.Printable(remark))
		}
	}
	for _, j := range r.refused() {
		fmt.Fprintf(w, "not imported: %s: %s\n", j.origin, terminal.Printable(j.reason))
	}
	fmt.Fprintf(w, "%d imported, %d not\n", len(r.imported()), len(r.refused()))
}

// zoneChanges returns the next changes of the offset of a zone, at most two, in the year after now.
func zoneChanges(zone *time.Location, now time.Time) (changes []time.Time) {
	at := now.Truncate(time.Hour)
	_, offset := at.In(zone).Zone()
	for end := at.AddDate(1, 0, 0); at.Before(end) && len(changes) < 2; at = at.Add(time.Hour) {
		if _, o := at.In(zone).Zone(); o != offset {
			changes, offset = append(changes, at.In(zone)), o
		}
	}
	return changes
}
