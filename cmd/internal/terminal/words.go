package terminal

import (
	"fmt"
	"strings"
)

// Plural returns a number and a noun, which gets an s, or es, unless the number is one.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Dash returns a text for a column of a table: a dash if it is empty.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
