package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/boundedfile"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/demo"
	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// configFlags adds --config and the flags of overrides to a command.
func configFlags(cmd *cobra.Command, overrides []config.Override) {
	cmd.Flags().String("config", "", "configuration file ($"+config.FileEnv+")")
	for _, o := range overrides {
		if o.Flag != "" {
			cmd.Flags().String(o.Flag, "", o.Usage+" ($"+o.Env+")")
		}
	}
}

// loadConfig reads what a command that needs the store has to know. Its error is
// a usageError that joins every fault.
func loadConfig(cmd *cobra.Command) (*config.Config, error) {
	c, err := readConfig(cmd, config.StoreOverrides)
	if c != nil {
		warnOfMisspelt(cmd.ErrOrStderr(), c)
	}
	if err != nil {
		return nil, refused(err)
	}
	c.OnPlaintext(warnTo(cmd.ErrOrStderr()))
	return c, nil
}

// refused makes a usageError of the faults of a configuration.
func refused(err error) error {
	return &usageError{fmt.Errorf("configuration:\n%w", config.InFileOrder(err))}
}

// warnTo prints warnings to w as lines for a person.
func warnTo(w io.Writer) func(path, text string) {
	return func(path, text string) { fmt.Fprintf(w, "cronce: warning: %s %s\n", path, text) }
}

// loadNodeConfig reads what a node has to know: its jobs must be fine as well.
func loadNodeConfig(cmd *cobra.Command) (*config.Config, error) {
	c, err := readConfig(cmd, config.NodeOverrides)
	return checked(cmd, c, err)
}

// checked adds what is wrong with the jobs of a configuration. A misspelt variable may
// be the cause: a node that starts logs it instead, as it does all warnings.
func checked(cmd *cobra.Command, c *config.Config, err error) (*config.Config, error) {
	if c != nil {
		_, faults := dryRun(c)
		if err = errors.Join(err, faults); err != nil {
			warnOfVariables(cmd.ErrOrStderr(), c)
		}
	}
	if err != nil {
		return nil, refused(err)
	}
	c.OnPlaintext(warnTo(cmd.ErrOrStderr()))
	return c, nil
}

// readConfig reads the file that the command names, then environment, then flags:
// later ones win. The config is nil if there is nothing to look at.
func readConfig(cmd *cobra.Command, overrides []config.Override) (*config.Config, error) {
	return readConfigThen(cmd, overrides, nil)
}

// readConfigThen changes the configuration before it is judged.
func readConfigThen(cmd *cobra.Command, overrides []config.Override, change func(*config.Config)) (*config.Config, error) {
	name, data, err := configFile(cmd)
	if err != nil {
		return nil, err
	}
	given := func(flag string) (string, bool) {
		value, _ := cmd.Flags().GetString(flag)
		return value, cmd.Flags().Changed(flag)
	}
	return config.Read(config.Source{Name: name, Data: data, Env: os.LookupEnv, Flag: given}, overrides, change)
}

// configFile returns the file that flags or environment name; without one, none.
func configFile(cmd *cobra.Command) (name string, data []byte, err error) {
	if ofDemo, _ := cmd.Flags().GetBool("demo"); ofDemo {
		return demo.FileName, demo.File, nil
	}
	name, _ = cmd.Flags().GetString("config")
	if name == "" {
		name = os.Getenv(config.FileEnv)
	}
	if name == "" {
		return "", nil, nil
	}
	if data, err = boundedfile.Read(name, strictyaml.MaxSize); err != nil {
		if strictyaml.HasCredentials(name) {
			name = notShown
		}
		return "", nil, fmt.Errorf("%s: %w", name, err)
	}
	return name, data, nil
}
