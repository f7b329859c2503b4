package main

import (
	"slices"
	"strings"

	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// childEnv is an environment for a command that is not cronce: without what holds a
// secret of cronce. The command was not given the keys of the store by being run
// under a lock, and an environment is inherited, dumped and logged. A configuration that
// this command is not started with may name more, and a name may be misspelt: of the
// variables that begin like those of cronce only the known ones without a secret are left.
func (c *config) childEnv(environ []string) []string {
	secret := c.secretVariables()
	known := c.knownVariables()
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		stray := strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) && !serviceEnv.MatchString(variable)
		return stray || slices.Contains(secret, name) || name == redisURLEnv && mayHoldPassword(value) ||
			strings.HasPrefix(name, envPrefix) && strictyaml.HasCredentials(value)
	})
}

// knownVariables are the names of the variables that cronce reads or sets.
func (c *config) knownVariables() []string {
	known := append(c.secretVariables(), configEnv, fenceEnv)
	for _, o := range shopOverrides { // which has those of all commands
		known = append(known, o.env)
	}
	return known
}

// secretVariables are the names of the variables that secrets are read from.
func (c *config) secretVariables() []string {
	names := []string{defaultPasswordEnv, defaultDSNEnv, c.Redis.PasswordEnv, c.Redis.SentinelPasswordEnv}
	names = append(names, shopTokenEnvs...)
	if s := c.Shop; s != nil {
		names = append(names, s.Database.DSNEnv, s.BuyerTokenEnv, s.SellerTokenEnv, s.PaymentTokenEnv)
		if s.Rewards != nil {
			names = append(names, s.Rewards.TokenEnv)
		}
	}
	for i := range c.Jobs {
		if s := c.Jobs[i].SMS; s != nil {
			names = append(names, s.TokenEnv)
			if s.Receipts != nil {
				names = append(names, s.Receipts.TokenEnv)
			}
		}
	}
	return names
}

// mayHoldPassword reports whether a URL has a password, or cannot be read.
func mayHoldPassword(raw string) bool {
	e, err := parseRedisURL(raw)
	return err != nil || e.hasPassword()
}
