package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Values of -o of the commands that list.
const (
	OutputText = "text"
	OutputWide = "wide"
	OutputYAML = "yaml"
	OutputName = "name"
)

var formats = []string{OutputText, OutputWide, OutputJSON, OutputYAML, OutputName}

// FormatFlag adds -o to a command that lists. It refuses unknown values.
func FormatFlag(cmd *cobra.Command, output *string) {
	*output = OutputText
	cmd.Flags().VarP((*formatValue)(output), "output", "o", "text, wide, name, or json and yaml for machines")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

type formatValue string

func (v *formatValue) String() string { return string(*v) }
func (v *formatValue) Type() string   { return "format" }

func (v *formatValue) Set(s string) error {
	if !slices.Contains(formats, s) {
		return fmt.Errorf("is %q, must be %s", s, strings.Join(formats, ", "))
	}
	*v = formatValue(s)
	return nil
}
