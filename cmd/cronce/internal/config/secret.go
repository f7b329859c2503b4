package config

import (
	"strings"

	"github.com/cronce/cronce/cmd/cronce/internal/boundedfile"
)

// A Secret prints as ***, however it is printed: what it hides is behind a
// function, which neither fmt nor reflection reads. The zero Secret is empty.
type Secret struct{ reveal func() string }

func newSecret(s string) Secret {
	return Secret{func() string { return s }}
}

// Text is the secret itself: for the client that needs it and nothing else.
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

// maxSecret is how many bytes a file with a secret may have.
const maxSecret = 64 << 10

// readSecret reads a secret from a file, or else from the environment, by names
// that the configuration has under path + "_file" and path + "_env". A variable
// that is not set is a fault only if the configuration asks for it. No fault repeats
// either name: a slip puts the secret itself there.
func (c *Config) readSecret(path, file, env, defaultEnv string) (Secret, error) {
	switch {
	case file != "" && env != "":
		return Secret{}, c.Fault(path+"_env", "and %s_file are both set, give one of them", path)
	case file != "":
		return c.SecretFile(path+"_file", file)
	case env != "":
		if s, ok := c.variable(env); ok {
			return newSecret(s), nil
		}
		return Secret{}, c.Fault(path+"_env", "names a variable that is not set (must be the name of a variable, never the secret itself)")
	case defaultEnv != "":
		s, _ := c.variable(defaultEnv)
		return newSecret(s), nil
	}
	return Secret{}, nil
}

// SecretSource returns how a secret is read: once from the environment, and from a file each time
// that it is asked for. The names are those of readSecret. Its fault is that of the first time.
func (c *Config) SecretSource(path, file, env string) (func() Secret, error) {
	if file == "" || env != "" {
		s, err := c.readSecret(path, file, env, "")
		return func() Secret { return s }, err
	}
	now, err := newCurrent(c.stale, func() (Secret, error) { return c.SecretFile(path+"_file", file) }, file)
	return now.value, err
}

// SecretFile does not insist on a file that only its owner can read: that is not
// how Kubernetes mounts secrets.
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
