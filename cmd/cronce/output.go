package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// The values of -o.
const (
	outputText = "text"
	outputJSON = "json"
)

// outputFlag adds -o, which refuses what it does not know.
func outputFlag(cmd *cobra.Command, output *string) {
	*output = outputText
	cmd.Flags().VarP((*outputValue)(output), "output", "o", "text, or json for machines")
}

type outputValue string

func (v *outputValue) String() string { return string(*v) }
func (v *outputValue) Type() string   { return "format" }

func (v *outputValue) Set(s string) error {
	if s != outputText && s != outputJSON {
		return fmt.Errorf("is %q, allowed is text or json", s)
	}
	*v = outputValue(s)
	return nil
}
