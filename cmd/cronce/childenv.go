package main

import (
	"slices"
	"strings"
)

// childEnv is an environment for a command that is not cronce: without what holds a
// secret of cronce. The command was not given the keys of the store by being run
// under a lock, and an environment is inherited, dumped and logged.
func (c *config) childEnv(environ []string) []string {
	names := c.secretVariables()
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		return slices.Contains(names, name) || name == redisURLEnv && mayHoldPassword(value)
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
