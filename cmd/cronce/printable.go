package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// printable is a text as it may be written to a terminal, on one line and in one
// column: what is not printable is shown escaped, such as \x1b, \n, \u202e, and \xff
// for a byte that is no UTF-8. Whatever comes from the store, from the network or
// from a job is written through it, or through printableText, or as JSON.
func printable(s string) string {
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

// printableText is printable of each line of a text.
func printableText(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// printRow writes a row of a table, whose columns a tabwriter aligns.
func printRow(w io.Writer, cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = printable(fmt.Sprint(cell))
	}
	fmt.Fprintln(w, strings.Join(texts, "\t")) // the error is that of the tabwriter's Flush
}

// printableJSON escapes in JSON what is not printable. There it stands in strings
// alone, so the value stays the same.
type printableJSON struct{ w io.Writer }

func (p printableJSON) Write(data []byte) (int, error) {
	if !strings.ContainsFunc(string(data), notInJSON) {
		return p.w.Write(data)
	}
	var b strings.Builder
	for _, r := range string(data) {
		switch {
		case !notInJSON(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	if _, err := io.WriteString(p.w, b.String()); err != nil {
		return 0, err
	}
	return len(data), nil
}

func notInJSON(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
