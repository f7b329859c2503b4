package terminal

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns a text that is safe to write to a terminal, in one line and one column.
// Unprintable characters are escaped, such as \x1b, \n, \u202e,
// and \xff for an invalid byte. Every text from the store, from the network or from a job is
// printed through it, through PrintableText, or as JSON.
func Printable(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unprintable(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unprintable reports whether a rune may affect a terminal in another way than to be shown. These
// runes include controls that reverse the direction of text, and the replacement for invalid UTF-8.
func unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// PrintableText applies Printable to each line of a text.
func PrintableText(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// PrintRow writes a row of a table for a tabwriter.
func PrintRow(w io.Writer, cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = Printable(fmt.Sprint(cell))
	}
	fmt.Fprintln(w, strings.Join(texts, "\t")) // Flush of the tabwriter returns the error
}
