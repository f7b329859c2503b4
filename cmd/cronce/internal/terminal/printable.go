package terminal

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable is a text as it may be written to a terminal, on one line and in one
// column: what is not printable is shown escaped, such as \x1b, \n, \u202e, and \xff
// for a byte that is no UTF-8. Whatever comes from the store, from the network or
// from a job is written through it, or through PrintableText, or as JSON.
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

// unprintable reports whether a rune may do more to a terminal than to be shown.
// Controls that reverse the direction of what follows are among them, and so is the
// replacement of what is no UTF-8.
func unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// PrintableText is Printable of each line of a text.
func PrintableText(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// PrintRow writes a row of a table, whose columns a tabwriter aligns.
func PrintRow(w io.Writer, cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = Printable(fmt.Sprint(cell))
	}
	fmt.Fprintln(w, strings.Join(texts, "\t")) // the error is that of the tabwriter's Flush
}
