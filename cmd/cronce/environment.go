package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"go.uber.org/zap"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
)

// warnOfVariables prints the stray variables of the environment to w as lines for a person.
func warnOfVariables(w io.Writer, c *config.Config) { warnOf(w, c.StrayVariables(os.Environ())) }

// warnOfMisspelt prints only those that are close to a known one: a command that runs
// often must not complain each time of what a script around it may use.
func warnOfMisspelt(w io.Writer, c *config.Config) {
	warnOf(w, slices.DeleteFunc(c.StrayVariables(os.Environ()), func(v config.StrayVariable) bool { return v.Meant == "" }))
}

func warnOf(w io.Writer, strays []config.StrayVariable) {
	for _, v := range strays {
		fmt.Fprintf(w, "cronce: warning: %s\n", v)
	}
}

// logVariables logs the stray variables.
func logVariables(c *config.Config, log *zap.Logger) {
	for _, v := range c.StrayVariables(os.Environ()) {
		log.Warn("variable not known", zap.String("variable", v.Name), zap.String("meant", v.Meant))
	}
}
