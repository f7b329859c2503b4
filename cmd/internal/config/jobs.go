package config

import "slices"

// HasExec reports whether a job runs a command.
func (c *Config) HasExec() bool {
	return slices.ContainsFunc(c.Jobs, func(j Job) bool { return j.Exec != nil })
}
