package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/exit"
)

// documents returns the pages that show commands, by name.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[path] = string(text)
		}
	}
	return all
}

var (
	shellBlock   = regexp.MustCompile("(?ms)^```sh\n.*?^```$|^    [^\n]*$")
	shownCommand = regexp.MustCompile(`(?m)^ *(?:\$ |[A-Z_]+=\S+ |.* \| )?(cronce [a-z].*)$`)
)

// Every command that the documents show exists, and accepts the flags that it is shown with.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	shown := 0
	for page, text := range documents(t) {
		if filepath.Base(page) == "CHANGELOG.md" {
			continue // it describes the past
		}
		blocks := strings.Join(shellBlock.FindAllString(text, -1), "\n")
		for _, m := range shownCommand.FindAllStringSubmatch(blocks, -1) {
			if err := parses(m[1]); err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
			}
			shown++
		}
	}
	if shown < 30 {
		t.Errorf("found %d commands: the documents show more", shown)
	}
}

// Each command that is not hidden has an example, with existing flags.
func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.HasParent() && cmd.Runnable() && !cmd.HasExample() {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		shown := shownCommand.FindAllStringSubmatch(cmd.Example, -1)
		if cmd.HasExample() && !strings.Contains(cmd.Example, cmd.CommandPath()) || len(shown) < strings.Count(cmd.Example, "\n  ") {
			t.Errorf("the examples of %s are of others:\n%s", cmd.CommandPath(), cmd.Example)
		}
		for _, m := range shown {
			if err := parses(m[1]); err != nil {
				t.Errorf("%s: %s: %v", cmd.CommandPath(), m[1], err)
			}
		}
		for _, sub := range cmd.Commands() {
			if builtin := sub.Name() == "help" || sub.Name() == "completion"; !sub.Hidden && !builtin && sub.Name() != "shop" {
				walk(sub)
			}
		}
	}
	walk(rootCommand(new(bool)))
}

// parses reports whether the command of a line exists and has its flags.
func parses(line string) error {
	command, rest, err := rootCommand(new(bool)).Find(shellWords(line)[1:])
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

func TestShellWords(t *testing.T) {
	t.Parallel()
	got := strings.Join(shellWords(`cronce next "0/5 * * * * ?" -n 5 --who '' a#b # five | six`), "/")
	if want := "cronce/next/0/5 * * * * ?/-n/5/--who//a#b"; got != want {
		t.Errorf("words %s, want %s", got, want)
	}
}

// A node accepts every configuration that the documents show.
func TestDocumentedConfigurations(t *testing.T) {
	t.Parallel()
	block := regexp.MustCompile("(?ms)^<!-- config -->\n```yaml\n(.*?)^```$")
	found := 0
	for page, text := range documents(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			found++
			if r := cronce(t, "node", "--check", "--config", file(t, "config.yaml", m[1])); r.code != exit.Fine {
				t.Errorf("%s: exit code %d\n%s%s\n%s", page, r.code, r.stdout, r.stderr, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no page has a configuration")
	}
}
