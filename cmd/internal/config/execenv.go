package config

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
)

// ExecEnv returns the variables that a job of kind exec gets from the node's environment and from a
// file, and their values, which may be secrets. No fault repeats a value.
func (c *Config) ExecEnv(at string, e *Exec) (env, secrets []string, err error) {
	for i, name := range e.EnvFrom {
		value, ok := c.variable(name)
		if !ok {
			return nil, nil, c.Fault(fmt.Sprintf("%s.env_from[%d]", at, i), "names a variable that is not set (must be the name of a variable, never its value)")
		}
		env, secrets = append(env, name+"="+value), append(secrets, value)
	}
	if e.EnvFile == "" {
		return env, secrets, nil
	}
	text, err := boundedfile.Read(e.EnvFile, maxSecret)
	if err != nil {
		return nil, nil, c.Fault(at+".env_file", "names a file that cannot be used: %v", err)
	}
	no := 0
	for line := range strings.Lines(string(text)) {
		no++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, nil, c.Fault(at+".env_file", "names a file whose line %d is not NAME=value", no)
		}
		value = unquoted(strings.TrimSpace(value))
		env, secrets = append(env, name+"="+value), append(secrets, value)
	}
	return env, secrets, nil
}

// unquoted removes the quotes around a value.
func unquoted(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
