package config

import (
	"maps"
	"slices"
	"strings"
)

// A Call has the settings of kind http.
type Call struct {
	Method       string            `yaml:"method"`
	URL          string            `yaml:"url"`
	Headers      map[string]string `yaml:"headers"`
	HeaderEnv    map[string]string `yaml:"header_env"`
	HeaderFile   map[string]string `yaml:"header_file"`
	Body         string            `yaml:"body"`
	Expect       []int             `yaml:"expect"`
	Timeout      duration          `yaml:"timeout"`
	Idempotent   bool              `yaml:"idempotent"`
	AllowPrivate bool              `yaml:"allow_private"`
	Proxy        string            `yaml:"proxy"`
}

// secretNames are parts of the names of headers that hold secrets.
var secretNames = []string{"authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "access-key", "auth-key"}

// PlainHeaders refuses headers whose names say that their values are secrets. No fault repeats a value.
func (c *Config) PlainHeaders(at string, call *Call) (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(call.Headers)) {
		holds := func(part string) bool { return strings.Contains(strings.ToLower(name), part) }
		if slices.ContainsFunc(secretNames, holds) {
			errs = append(errs, c.Fault(at+".headers."+name, "may not stand here: set header_env or header_file, which say where its value is"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(call.HeaderFile)) {
		if _, twice := call.HeaderEnv[name]; twice {
			errs = append(errs, c.Fault(at+".header_env."+name, "and header_file.%s are both set, give one of them", name))
		}
	}
	return errs
}

// SecretHeaders returns the sources of the headers that hold secrets: read once from the environment,
// or from a file at each call. No fault repeats the name of a variable, since a secret may stand
// there by mistake.
func (c *Config) SecretHeaders(at string, call *Call) (map[string]func() Secret, error) {
	sources := map[string]func() Secret{}
	for name, variable := range call.HeaderEnv {
		value, ok := c.variable(variable)
		if !ok || value == "" {
			return nil, c.Fault(at+".header_env."+name, "names a variable that is not set (must be the name of a variable, never the value itself)")
		}
		sources[name] = func() Secret { return newSecret(value) }
	}
	for name, file := range call.HeaderFile {
		now, err := newCurrent(c.stale, func() (Secret, error) { return c.SecretFile(at+".header_file."+name, file) }, file)
		if err != nil {
			return nil, err
		}
		sources[name] = now.value
	}
	if len(sources) > 0 {
		return sources, c.TokenInPlain(at+".url", call.URL)
	}
	return nil, nil
}
