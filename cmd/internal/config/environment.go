package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// Variables with a special use: one names the file, one may hold a password, and two are set for a
// command that runs under a lock.
const (
	FileEnv     = "CRONCE_CONFIG"
	FenceEnv    = "CRONCE_FENCE" // the fence of a command that runs under a lock
	TickEnv     = "CRONCE_TICK"  // the tick of a command that runs once per tick
	redisURLEnv = "CRONCE_REDIS_URL"
)

// envPrefix begins the names of the variables that cronce reads.
const envPrefix = "CRONCE_"

// serviceEnv matches the variables that Kubernetes sets in each container for a service
// whose name is cronce or begins with cronce-.
var serviceEnv = regexp.MustCompile(`^CRONCE_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?=|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=|PORT=[a-z]+://)`)

// A StrayVariable is an unknown variable of the environment with cronce's prefix.
type StrayVariable struct{ Name, Meant string }

func (v StrayVariable) String() string {
	text := fmt.Sprintf("the environment variable %.100q is not known", v.Name)
	if v.Meant != "" {
		text += ", did you mean " + v.Meant + "?"
	}
	return text
}

// StrayVariables returns the stray variables of an environment, by name. Variables that the
// configuration names are known.
func (c *Config) StrayVariables(environ []string) (strays []StrayVariable) {
	known := c.knownVariables()
	var lower []string
	for _, name := range known {
		if rest, ours := strings.CutPrefix(name, envPrefix); ours { // with the prefix all names would resemble each other
			lower = append(lower, strings.ToLower(rest))
		}
	}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) || serviceEnv.MatchString(variable) {
			continue
		}
		stray := StrayVariable{Name: name}
		if near := strictyaml.Nearest(strings.ToLower(name[len(envPrefix):]), lower); near != "" {
			stray.Meant = envPrefix + strings.ToUpper(near)
		}
		strays = append(strays, stray)
	}
	slices.SortFunc(strays, func(a, b StrayVariable) int { return strings.Compare(a.Name, b.Name) })
	return strays
}
