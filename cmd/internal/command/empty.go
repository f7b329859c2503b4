package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// jobNames are the names that a job may have, in the words of a scheduler's errors.
const jobNames = `^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`

// CheckJob returns the error of the command at a path for an empty name of a job. It is probably a variable of a script that
// is not set, and must not stand for all jobs. The store knows the other names.
func CheckJob(path, name string) error {
	if name != "" {
		return nil
	}
	return exit.Usagef(`%s: job is "", must be %s`, path, jobNames)
}

// checkFlags returns the error of the first flag that was given an empty text, which no flag has as a value: the
// command would run as if it had not been given, as with all jobs in place of one.
func checkFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		allowed := "one character or more: " + f.Usage
		if f.Name == "job" {
			allowed = jobNames
		}
		if err == nil && isEmpty(f.Value) {
			err = exit.Usagef(`%s: --%s is "", must be %s`, pathBelow(cmd), f.Name, allowed)
		}
	})
	return err
}

func isEmpty(v pflag.Value) bool {
	if list, ok := v.(pflag.SliceValue); ok {
		all := list.GetSlice()
		return len(all) == 0 || slices.Contains(all, "")
	}
	return v.Type() == "string" && v.String() == ""
}

// pathBelow returns the path of a command below the root.
func pathBelow(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}
