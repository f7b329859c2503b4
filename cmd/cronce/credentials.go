package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// quotedText matches what is quoted, and the mark behind it of what was cut.
var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"…?`)

const notShown = "(credentials, not shown)"

// withoutCredentials is the text of a wrong usage without what may be a URL or a DSN with
// credentials. It was typed where something else is allowed, so whatever found the mistake
// (the parser of flags, of numbers, of specs) quotes it as something harmless.
func withoutCredentials(text string, args []string) string {
	text = quotedText.ReplaceAllStringFunc(text, func(quoted string) string {
		if s, err := strconv.Unquote(strings.TrimSuffix(quoted, "…")); err == nil && !strictyaml.HasCredentials(s) && !cutURL(quoted) {
			return quoted
		}
		return notShown
	})
	for _, arg := range args {
		if strictyaml.HasCredentials(arg) {
			text = strings.ReplaceAll(text, arg[strings.Index(arg, ":"):], notShown) // before it may stand the name of a flag
		}
	}
	return text
}

// cutURL reports whether a quoted text is the beginning of a URL, whose @ was cut off.
func cutURL(quoted string) bool {
	return strings.Contains(quoted, "://") && (strings.HasSuffix(quoted, "…") || strings.HasSuffix(quoted, `…"`) || strings.HasSuffix(quoted, `..."`))
}
