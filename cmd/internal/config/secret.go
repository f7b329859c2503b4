package config

import (
	"strings"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
)

// A Secret prints as *** in every format: the text is inside a closure, which neither fmt nor
// reflection reads. The zero Secret is empty.
type Secret struct{ reveal func() string }

func newSecret(s string) Secret {
	return Secret{func() string { return s }}
}

// Text returns the secret, for the client that needs it.
func (s Secret) Text() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String hides the secret from %v and %s.
func (s Secret) String() string { return "***" }

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return "***" }

// maxSecret bounds a file with a secret, in bytes.
const maxSecret = 64 << 10

// ReadSecret reads a secret from a file, or else from the environment. The configuration has the
// names under path + "_file" and path + "_env". An unset variable is a fault only if the
// configuration names it. No fault repeats a name, because the name may be a
// secret in the wrong place.
func (c *Config) ReadSecret(path, file, env, defaultEnv string) (Secret, error) {
	switch {
	case file != "":
		return c.SecretFile(path+"_file", file)
	case env != "":
		if s, ok := c.secretVariable(env); ok {
			return newSecret(s), nil
		}
		return Secret{}, c.Fault(path+"_env", "names a variable that is not set (must be the name of a variable, never the secret itself)")
	case defaultEnv != "":
		s, _ := c.secretVariable(defaultEnv)
		return newSecret(s), nil
	}
	return Secret{}, nil
}

// secretVariable returns a variable without the line break at its end, as SecretFile does: the variable may have been made
// from a file.
func (c *Config) secretVariable(name string) (text string, ok bool) {
	text, ok = c.variable(name)
	return strings.TrimRight(text, "\r\n"), ok
}

// A secretSource is the place of a secret: a variable or a file.
type secretSource struct{ path, file, env string }

// secretSources returns the sources of all secrets. The path is the setting's path without _env or
// _file.
func (c *Config) secretSources() []secretSource {
	r := &c.Redis
	all := []secretSource{
		{"store_password", c.StorePasswordFile, c.StorePasswordEnv},
		{"redis.password", r.PasswordFile, r.PasswordEnv}, {"redis.sentinel_password", r.SentinelPasswordFile, r.SentinelPasswordEnv},
	}
	if c.Ops != nil && c.Ops.Webhook != nil {
		all = append(all, secretSource{"ops.webhook.secret", c.Ops.Webhook.SecretFile, c.Ops.Webhook.SecretEnv})
	}
	return all
}

// secretFaults refuses a secret with two sources.
func (c *Config) secretFaults(bad func(path, format string, args ...any)) {
	for _, s := range c.secretSources() {
		if s.file != "" && s.env != "" {
			bad(s.path+"_env", "and %s_file are both set, give one of them", s.path)
		}
	}
}

// SecretSource returns a function that returns a secret: read once from the environment, or from a
// file at each call. The names are the ones of ReadSecret. Its fault is the fault of the first
// read.
func (c *Config) SecretSource(path, file, env string) (func() Secret, error) {
	if file == "" || env != "" {
		s, err := c.ReadSecret(path, file, env, "")
		return func() Secret { return s }, err
	}
	now, err := NewCurrent(c, func() (Secret, error) { return c.SecretFile(path+"_file", file) }, file)
	return now.Value, err
}

// SecretFile reads a secret from a file. It accepts a file that others can read, because Kubernetes
// mounts secrets like that.
func (c *Config) SecretFile(path, name string) (Secret, error) {
	text, err := boundedfile.Read(name, maxSecret)
	if err != nil {
		return Secret{}, c.Fault(path, "names a file that cannot be used: %v", err)
	}
	line := strings.TrimRight(string(text), "\r\n")
	if line == "" {
		return Secret{}, c.Fault(path, "names a file that is empty")
	}
	if strings.ContainsAny(line, "\r\n\x00") {
		return Secret{}, c.Fault(path, "names a file with several lines, must have one")
	}
	return newSecret(line), nil
}
