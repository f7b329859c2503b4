package config

import (
	"slices"
	"strings"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// ChildEnv returns the environment for a command other than cronce, without variables that may hold
// a secret of cronce. A command that runs under a lock does not need the credentials of the store,
// and environments are inherited, dumped and logged. Another configuration may use further
// variables, and a name may be misspelt. Therefore only known variables with cronce's prefix that
// hold no secret are kept.
func (c *Config) ChildEnv(environ []string) []string {
	secret := c.secretVariables()
	known := c.knownVariables()
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		stray := strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) && !serviceEnv.MatchString(variable)
		return stray || slices.Contains(secret, name) || name == redisURLEnv && !isRedisURL(value) ||
			strings.HasPrefix(name, envPrefix) && strictyaml.HasCredentials(value)
	})
}

// knownVariables returns the names of the variables that cronce reads or sets.
func (c *Config) knownVariables() []string {
	known := append(c.secretVariables(), FileEnv, FenceEnv, TickEnv)
	for _, o := range NodeOverrides { // which include the overrides of all commands
		known = append(known, o.Env)
	}
	return known
}

// secretVariables returns the names of the variables that hold secrets.
func (c *Config) secretVariables() []string {
	names := []string{PasswordEnv, StorePasswordEnv}
	for _, s := range c.secretSources() {
		names = append(names, s.env)
	}
	return names
}

// isRedisURL reports whether a text is a URL, and not a password in its place.
func isRedisURL(raw string) bool {
	_, err := parseRedisURL(raw)
	return err == nil
}

// NodeEnv returns the environment for a node of a demo: without settings and, if the Redis is
// inside the demo, without the password of another Redis.
func NodeEnv(environ []string, embedded bool) []string {
	drop := []string{FileEnv}
	for _, o := range NodeOverrides {
		drop = append(drop, o.Env)
	}
	if embedded {
		drop = append(drop, PasswordEnv)
	}
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(drop, name)
	})
}
