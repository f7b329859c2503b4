package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// envPrefix is what the names of the variables that cronce reads begin with.
const envPrefix = "CRONCE_"

// serviceEnv matches the variables that Kubernetes sets in each container for a service
// whose name is cronce or begins with cronce-.
var serviceEnv = regexp.MustCompile(`^CRONCE_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?=|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=|PORT=[a-z]+://)`)

// A strayVariable is a variable of the environment that begins like those of cronce and
// is none of them.
type strayVariable struct{ name, meant string }

func (v strayVariable) String() string {
	text := fmt.Sprintf("the environment variable %.100q is not known", v.name)
	if v.meant != "" {
		text += ", did you mean " + v.meant + "?"
	}
	return text
}

// strayVariables returns the stray variables of an environment, by name. Those that the
// configuration names are known.
func (c *config) strayVariables(environ []string) (strays []strayVariable) {
	known := c.knownVariables()
	var lower []string
	for _, name := range known {
		if rest, ours := strings.CutPrefix(name, envPrefix); ours { // the prefix would make all names alike
			lower = append(lower, strings.ToLower(rest))
		}
	}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) || serviceEnv.MatchString(variable) {
			continue
		}
		stray := strayVariable{name: name}
		if near := strictyaml.Nearest(strings.ToLower(name[len(envPrefix):]), lower); near != "" {
			stray.meant = envPrefix + strings.ToUpper(near)
		}
		strays = append(strays, stray)
	}
	slices.SortFunc(strays, func(a, b strayVariable) int { return strings.Compare(a.name, b.name) })
	return strays
}

// warnOfVariables prints the stray variables to w as lines for a person.
func (c *config) warnOfVariables(w io.Writer) { warnOf(w, c.strayVariables(os.Environ())) }

// warnOfMisspelt prints only those that are close to a known one: a command that runs
// often must not complain each time of what a script around it may use.
func (c *config) warnOfMisspelt(w io.Writer) {
	warnOf(w, slices.DeleteFunc(c.strayVariables(os.Environ()), func(v strayVariable) bool { return v.meant == "" }))
}

func warnOf(w io.Writer, strays []strayVariable) {
	for _, v := range strays {
		fmt.Fprintf(w, "cronce: warning: %s\n", v)
	}
}

// logVariables logs the stray variables.
func (c *config) logVariables(log *zap.Logger) {
	for _, v := range c.strayVariables(os.Environ()) {
		log.Warn("variable not known", zap.String("variable", v.name), zap.String("meant", v.meant))
	}
}
