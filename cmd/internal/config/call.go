package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// A Call has the settings of kind http.
type Call struct {
	Method       string            `yaml:"method"`
	URL          string            `yaml:"url"`
	Headers      map[string]string `yaml:"headers"`
	HeaderFile   map[string]string `yaml:"header_file"`
	Body         string            `yaml:"body"`
	Expect       []int             `yaml:"expect"`
	Timeout      Duration          `yaml:"timeout"`
	Idempotent   bool              `yaml:"idempotent"`
	AllowPrivate bool              `yaml:"allow_private"`
	Proxy        string            `yaml:"proxy"`
}

// secretNames are parts of the names of headers that hold secrets.
var secretNames = []string{"authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "access-key", "auth-key"}

// CallHeaders returns the headers of a request in two groups: headers without a variable, and
// headers with secrets, which are read from the environment once, or from a file at each call. It
// also returns the values of the variables. If dry is set, no secret is read. A header whose name
// suggests a secret must not have its value in the configuration.
func (c *Config) CallHeaders(at string, call *Call, dry bool) (plain map[string]string, secret map[string]func() Secret, values []string, err error) {
	plain, secret = map[string]string{}, map[string]func() Secret{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(call.Headers)) {
		path, text := at+".headers."+name, call.Headers[name]
		value, secrets, err := c.ExpandNonempty(path, text, dry)
		values = append(values, secrets...)
		_, twice := call.HeaderFile[name]
		switch {
		case err != nil:
			errs = append(errs, err)
		case twice:
			errs = append(errs, c.Fault(path, "and header_file.%s are both set, give one of them", name))
		case HasVariable(text):
			secret[name] = func() Secret { return newSecret(value) }
		case namesSecret(name):
			errs = append(errs, c.Fault(path, "may not stand here: name a variable, as in \"Bearer ${TOKEN}\", or set header_file, which says where its value is"))
		default:
			plain[name] = value
		}
	}
	for name, file := range call.HeaderFile {
		if dry {
			secret[name] = func() Secret { return Secret{} }
			continue
		}
		now, err := NewCurrent(c, func() (Secret, error) { return c.SecretFile(at+".header_file."+name, file) }, file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		secret[name] = now.Value
	}
	return plain, secret, values, errors.Join(errs...)
}

// namesSecret reports whether the name of a header suggests that its value is secret.
func namesSecret(name string) bool {
	return slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(strings.ToLower(name), part) })
}
