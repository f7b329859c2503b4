package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/importcommand"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
)

//go:embed init.yaml
var firstFile []byte

// initName is the file that init writes if it has no argument.
const initName = "cronce.yaml"

func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "init [file]",
		Short:   "Write a commented configuration as a starting point",
		Long:    "Write a commented configuration as a starting point, by default to " + initName + ". An existing file is not changed.",
		Example: "  cronce config init\n  cronce node --config " + initName + " --check",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := initName
			if len(args) == 1 {
				name = args[0]
			}
			if err := writeNew(name, firstFile); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is written. Check it: cronce node --config %[1]s --check\n", terminal.Printable(name))
			return err
		},
	}
}

// writeNew writes a file that does not exist yet.
func writeNew(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return exit.With(exit.Refused, fmt.Errorf("config init: %s is there already, and stays as it is", name))
	}
	if err != nil {
		return exit.Usagef("config init: %w", err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func configCommand() *cobra.Command {
	return command.Group("config", "Write a configuration, also from a crontab or from CronJobs, or print its schema", initCommand(), importcommand.Command(), &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration, for editors",
		Long: "Print the JSON Schema (draft 2020-12) of the configuration. An editor with a language server for YAML reads it\n" +
			"from a comment in the file: # yaml-language-server: $schema=cronce.schema.json",
		Example: "  cronce config schema > cronce.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetIndent("", "  ")
			e.SetEscapeHTML(false)
			return e.Encode(config.Schema())
		},
	})
}
