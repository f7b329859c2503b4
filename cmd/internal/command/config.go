// Package command has the parts that the commands share: the flags that name a configuration, the
// flag -o, the signals that end a command, and groups of commands.
package command

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// ConfigFlags adds --config and the flags of overrides to a command.
func ConfigFlags(cmd *cobra.Command, overrides []config.Override) {
	cmd.Flags().String("config", "", "configuration file ($"+config.FileEnv+")")
	for _, o := range overrides {
		if o.Flag != "" {
			cmd.Flags().String(o.Flag, "", o.Usage+" ($"+o.Env+")")
		}
	}
}

// LoadConfig reads the configuration of a command that needs the store, and prints its warnings.
// Its error, of wrong usage, joins every fault.
func LoadConfig(cmd *cobra.Command) (*config.Config, error) {
	c, err := ReadConfig(cmd, config.StoreOverrides)
	if c != nil {
		warnOfMisspelt(cmd, c)
	}
	if err != nil {
		return nil, ConfigError(err)
	}
	c.OnPlaintext(WarnTo(cmd))
	return c, nil
}

// ConfigError returns the faults of a configuration as an error of wrong usage, in the order of the
// file.
func ConfigError(err error) error {
	return exit.Usagef("configuration:\n%w", config.InFileOrder(err))
}

// WarnTo returns a function that prints warnings of a command as lines for a person.
func WarnTo(cmd *cobra.Command) func(path, text string) {
	return func(path, text string) { warn(cmd, path+" "+text) }
}

func warn(cmd *cobra.Command, text string) {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %s\n", cmd.Root().Name(), text)
}

// ReadConfig reads the file that the command names, then the environment, then the flags. Later
// values override earlier ones. The config is nil if the file cannot be read or parsed.
func ReadConfig(cmd *cobra.Command, overrides []config.Override) (*config.Config, error) {
	source, err := Source(cmd)
	if err != nil {
		return nil, err
	}
	return config.Read(source, overrides, nil)
}

// Source returns the file that the command names, with the environment and the command's flags.
func Source(cmd *cobra.Command) (config.Source, error) {
	name, data, err := configFile(cmd)
	given := func(flag string) (string, bool) {
		value, _ := cmd.Flags().GetString(flag)
		return value, cmd.Flags().Changed(flag)
	}
	return config.Source{Name: name, Data: data, Env: os.LookupEnv, Flag: given}, err
}

// configFile reads the file that flags or environment name; without a name it returns no data.
func configFile(cmd *cobra.Command) (name string, data []byte, err error) {
	name, _ = cmd.Flags().GetString("config")
	if name == "" {
		name = os.Getenv(config.FileEnv)
	}
	if name == "" {
		return "", nil, nil
	}
	if data, err = boundedfile.ReadNow(name, strictyaml.MaxSize); err != nil {
		if strictyaml.HasCredentials(name) {
			name = notShown
		}
		return "", nil, fmt.Errorf("%s: %w", name, err)
	}
	return name, data, nil
}

// WarnOfVariables prints the stray variables of the environment as lines for a person.
func WarnOfVariables(cmd *cobra.Command, c *config.Config) {
	warnOf(cmd, c.StrayVariables(os.Environ()))
}

// warnOfMisspelt prints only the stray variables that resemble a known one: a command that runs
// often must not warn about variables of the script around it.
func warnOfMisspelt(cmd *cobra.Command, c *config.Config) {
	warnOf(cmd, slices.DeleteFunc(c.StrayVariables(os.Environ()), func(v config.StrayVariable) bool { return v.Meant == "" }))
}

func warnOf(cmd *cobra.Command, strays []config.StrayVariable) {
	for _, v := range strays {
		warn(cmd, v.String())
	}
}

// LogVariables logs the stray variables.
func LogVariables(c *config.Config, log *slog.Logger) {
	for _, v := range c.StrayVariables(os.Environ()) {
		log.Warn("variable not known", slog.String("variable", v.Name), slog.String("meant", v.Meant))
	}
}

// quotedText matches a quoted text, and the mark after it if it was cut.
var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"…?`)

const notShown = "(credentials, not shown)"

// WithoutCredentials returns the text of a usage error without parts that may be a URL or a DSN
// with credentials. Such a value was given in place of another one, so the parser (of flags,
// numbers or specs) quotes it as something harmless.
func WithoutCredentials(text string, args []string) string {
	text = quotedText.ReplaceAllStringFunc(text, func(quoted string) string {
		if s, err := strconv.Unquote(strings.TrimSuffix(quoted, "…")); err == nil && !strictyaml.HasCredentials(s) && !cutURL(quoted) {
			return quoted
		}
		return notShown
	})
	for _, arg := range args {
		if strictyaml.HasCredentials(arg) {
			text = strings.ReplaceAll(text, arg[strings.Index(arg, ":"):], notShown) // the name of a flag may come before it
		}
	}
	return text
}

// cutURL reports whether a quoted text is the beginning of a URL whose @ was cut off.
func cutURL(quoted string) bool {
	return strings.Contains(quoted, "://") && (strings.HasSuffix(quoted, "…") || strings.HasSuffix(quoted, `…"`) || strings.HasSuffix(quoted, `..."`))
}
