package main

import (
	"os"
	"strings"

	"github.com/cronce/cronce/cmd/cronce/internal/boundedfile"
)

// A secret prints as ***, however it is printed: what it hides is behind a
// function, where neither fmt nor reflection looks. The zero secret is empty.
type secret struct{ reveal func() string }

func newSecret(s string) secret {
	return secret{func() string { return s }}
}

// text is the secret itself: for the client that needs it and nothing else.
func (s secret) text() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

func (s secret) String() string   { return "***" }
func (s secret) GoString() string { return "***" }

// maxSecret is how many bytes a file with a secret may have.
const maxSecret = 64 << 10

// readSecret reads a secret from a file, or else from the environment, by names
// that the configuration has under path + "_file" and path + "_env". A variable
// that is not set is a fault only if the configuration asks for it. No fault repeats
// either name: a slip puts the secret itself there.
func (c *config) readSecret(path, file, env, defaultEnv string) (secret, error) {
	switch {
	case file != "" && env != "":
		return secret{}, c.fault(path+"_env", "and %s_file are both set, allowed is one of them", path)
	case file != "":
		return c.secretFile(path+"_file", file)
	case env != "":
		if s, ok := os.LookupEnv(env); ok {
			return newSecret(s), nil
		}
		return secret{}, c.fault(path+"_env", "names a variable that is not set (allowed is the name of a variable, never the secret itself)")
	case defaultEnv != "":
		return newSecret(os.Getenv(defaultEnv)), nil
	}
	return secret{}, nil
}

// secretFile does not insist on a file that only its owner can read: that is not
// how Kubernetes mounts secrets.
func (c *config) secretFile(path, name string) (secret, error) {
	text, err := boundedfile.Read(name, maxSecret)
	if err != nil {
		return secret{}, c.fault(path, "names a file that cannot be used: %v", err)
	}
	line := strings.TrimRight(string(text), "\r\n")
	if line == "" {
		return secret{}, c.fault(path, "names a file that is empty")
	}
	if strings.ContainsAny(line, "\r\n\x00") {
		return secret{}, c.fault(path, "names a file with several lines, allowed is one")
	}
	return newSecret(line), nil
}
