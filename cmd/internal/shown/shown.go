// Package shown holds the commands that documents and help show against those that a program has. It is
// for tests.
package shown

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// A Program is a program whose commands are shown. New builds its tree of commands.
type Program struct {
	New func() *cobra.Command
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n.*?^```$|^    [^\n]*$")

// shownIn returns the lines of a text that are commands of the program.
func (p Program) shownIn(text string) (lines []string) {
	name := regexp.QuoteMeta(p.New().Name())
	shown := regexp.MustCompile(`(?m)^ *(?:\$ |[A-Z_]+=\S+ |.* \| )?(` + name + ` [a-z].*)$`)
	for _, m := range shown.FindAllStringSubmatch(text, -1) {
		lines = append(lines, m[1])
	}
	return lines
}

// Pages checks the shell blocks of pages, by patterns of file names. It returns how many commands
// they show, and an error for each that does not exist, or has not the flags that it is shown with.
func (p Program) Pages(patterns ...string) (shown int, faults []error) {
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return shown, append(faults, err)
		}
		if len(names) == 0 {
			faults = append(faults, fmt.Errorf("%s: no page", pattern))
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return shown, append(faults, err)
			}
			for _, line := range p.shownIn(strings.Join(shellBlock.FindAllString(string(text), -1), "\n")) {
				shown++
				if err := p.parses(line); err != nil {
					faults = append(faults, fmt.Errorf("%s: %s: %w", name, line, err))
				}
			}
		}
	}
	return shown, faults
}

// Examples checks that each command that is not hidden has an example in its help, with flags that
// it has.
func (p Program) Examples() (faults []error) { return p.examplesBelow(p.New()) }

func (p Program) examplesBelow(cmd *cobra.Command) (faults []error) {
	if cmd.HasParent() && cmd.Runnable() && !cmd.HasExample() {
		faults = append(faults, fmt.Errorf("%s has no example", cmd.CommandPath()))
	}
	lines := p.shownIn(cmd.Example)
	if cmd.HasExample() && !strings.Contains(cmd.Example, cmd.CommandPath()) || len(lines) < strings.Count(cmd.Example, "\n  ") {
		faults = append(faults, fmt.Errorf("the examples of %s are of others:\n%s", cmd.CommandPath(), cmd.Example))
	}
	for _, line := range lines {
		if err := p.parses(line); err != nil {
			faults = append(faults, fmt.Errorf("%s: %s: %w", cmd.CommandPath(), line, err))
		}
	}
	for _, sub := range cmd.Commands() {
		if builtin := sub.Name() == "help" || sub.Name() == "completion"; !sub.Hidden && !builtin {
			faults = append(faults, p.examplesBelow(sub)...)
		}
	}
	return faults
}

// parses reports whether the command of a line exists and has its flags.
func (p Program) parses(line string) error {
	command, rest, err := p.New().Find(shellWords(line)[1:])
	if err != nil {
		return err
	}
	return command.ParseFlags(rest)
}

// shellWords splits a line as a shell does, up to a comment, a pipe or an end of the command.
func shellWords(line string) (words []string) {
	var word strings.Builder
	inside, quote := false, rune(0)
	end := func() {
		if inside {
			words = append(words, word.String())
		}
		word.Reset()
		inside = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inside = r, true
		case quote == 0 && r == ' ':
			end()
		case quote == 0 && (r == '|' || r == '&' || r == ';' || r == '#' && !inside):
			end()
			return words
		default:
			inside = true
			word.WriteRune(r)
		}
	}
	end()
	return words
}
