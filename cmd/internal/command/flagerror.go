package command

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// allowedValues describe the values of a flag, by its type.
var allowedValues = map[string]string{
	"int": "a whole number", "int64": "a whole number", "bool": "true or false", "duration": "a duration with its unit, such as 90s or 1h30m",
}

// flagError explains the error of a flag whose value cannot be read. It names the flag, the value and
// the allowed values. A flag of the program behind an unknown command is that command's, so the
// command is named. Other errors stay as they are.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); !cmd.HasParent() && len(args) > 0 {
		return NoneBelow(cmd, args)
	}
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	flag, name := bad.GetFlag(), "--"+bad.GetFlag().Name
	if flag.Name == "count" { // as errors about its bounds name it
		name = "-n"
	}
	path := pathBelow(cmd)
	if text := bad.Unwrap().Error(); strings.HasPrefix(text, "is ") { // of a flag of this program
		return exit.Usagef("%s: %s %s", path, name, text)
	}
	allowed, known := allowedValues[flag.Value.Type()]
	if !known {
		return err
	}
	return exit.Usagef("%s: %s is %s, must be %s: %s", path, name, strictyaml.Quote(bad.GetValue()), allowed, flag.Usage)
}
