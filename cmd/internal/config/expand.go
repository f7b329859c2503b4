package config

import (
	"regexp"
	"slices"
	"strings"
)

// reference matches the parts that Expand replaces: ${NAME}, and $${, which becomes a literal ${.
var reference = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{`)

// HasVariable reports whether a text contains a variable of the environment.
func HasVariable(text string) bool {
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		if m[0] != "$${" {
			return true
		}
	}
	return false
}

// TokenInURL reports whether more than the host of a URL comes from the environment: it may be a
// token. Values has the value of each variable of the text, in order.
func TokenInURL(text string, values []string) bool {
	whole := len(values) > 0 && !strings.Contains(text, "://")
	return HasVariable(behindHost(text)) || whole && behindHost(values[0]) != ""
}

// behindHost returns the path and the query of a URL.
func behindHost(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	if i := strings.IndexAny(url, "/?#"); i >= 0 {
		return strings.Trim(url[i:], "/")
	}
	return ""
}

// Literal returns a text that Expand expands to text.
func Literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// Expand replaces the variables ${NAME} in a text by their values. It also returns these values,
// which may be secrets. $${ becomes ${. No fault repeats a value. If dry is set, nothing is read,
// and the text contains the names in place of the values.
func (c *Config) Expand(path, text string, dry bool) (expanded string, secrets []string, err error) {
	expanded = reference.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.TrimSuffix(strings.TrimPrefix(found, "${"), "}")
		switch {
		case found == "$${":
			return "${"
		case found == "${":
			err = c.Fault(path, `has "${" without a name and "}", must be ${NAME}; $${ stands for ${ itself`)
			return ""
		case dry:
			return name
		}
		value, ok := c.variable(name)
		if !ok {
			err = c.Fault(path, "names the variable %s, which is not set", name)
		}
		secrets = append(secrets, value)
		return value
	})
	return expanded, secrets, err
}

// ExpandNonempty is Expand for texts that are sent to another machine: a variable that is set but
// empty is a fault, because the request would be sent without its token.
func (c *Config) ExpandNonempty(path, text string, dry bool) (expanded string, secrets []string, err error) {
	expanded, secrets, err = c.Expand(path, text, dry)
	if err == nil && slices.Contains(secrets, "") {
		err = c.Fault(path, "names a variable that is set but empty")
	}
	return expanded, secrets, err
}
