package terminal

import (
	"fmt"
	"strings"
)

// Plural returns a number and a noun. Unless the number is one, the noun gets an s or es.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Dash returns a text for a column of a table, or a dash if it is empty.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
