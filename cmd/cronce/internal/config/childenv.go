package config

import (
	"slices"
	"strings"

	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// ChildEnv is an environment for a command that is not cronce: without what holds a
// secret of cronce. The command was not given the keys of the store by being run
// under a lock, and an environment is inherited, dumped and logged. A configuration that
// this command is not started with may name more, and a name may be misspelt: of the
// variables that begin like those of cronce only the known ones without a secret are left.
func (c *Config) ChildEnv(environ []string) []string {
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
func (c *Config) knownVariables() []string {
	known := append(c.secretVariables(), FileEnv, FenceEnv)
	for _, o := range ShopOverrides { // which has those of all commands
		known = append(known, o.Env)
	}
	return known
}

// secretVariables are the names of the variables that secrets are read from.
func (c *Config) secretVariables() []string {
	names := []string{PasswordEnv, DSNEnv, c.Redis.PasswordEnv, c.Redis.SentinelPasswordEnv}
	names = append(names, ShopTokenEnvs...)
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

// NodeEnv is an environment for a node that a demo starts: without what it says about settings,
// and, for a Redis inside the demo, without the password of another.
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
