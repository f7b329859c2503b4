package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// secretName matches the names of variables that say themselves that they hold a secret.
var secretName = regexp.MustCompile(`^` + envPrefix + `.*(PASSWORD|SECRET|TOKEN|DSN)`)

// childEnv is an environment for a command that is not cronce: without what holds a
// secret of cronce. The command was not given the keys of the store by being run
// under a lock, and an environment is inherited, dumped and logged. A configuration that
// this command is not started with may name more: a variable of cronce that is called
// like a secret, or has a user and a password in it, is taken for one.
func (c *config) childEnv(environ []string) []string {
	names := c.secretVariables()
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		return slices.Contains(names, name) || secretName.MatchString(name) || name == redisURLEnv && mayHoldPassword(value) ||
			strings.HasPrefix(name, envPrefix) && strictyaml.HasCredentials(value)
	})
}

// secretVariables are the names of the variables that secrets are read from.
func (c *config) secretVariables() []string {
	names := []string{defaultPasswordEnv, defaultDSNEnv, c.Redis.PasswordEnv, c.Redis.SentinelPasswordEnv}
	if c.Shop != nil {
		names = append(names, c.Shop.Database.DSNEnv)
	}
	for i := range c.Jobs {
		if s := c.Jobs[i].SMS; s != nil {
			names = append(names, s.TokenEnv)
		}
	}
	return names
}

// mayHoldPassword reports whether a URL has a password, or cannot be read.
func mayHoldPassword(raw string) bool {
	e, err := parseRedisURL(raw)
	return err != nil || e.hasPassword()
}
