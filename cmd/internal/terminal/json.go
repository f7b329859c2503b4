package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// PrintJSON writes a value as indented JSON, with unprintable characters escaped.
func PrintJSON(w io.Writer, value any) error {
	enc := json.NewEncoder(jsonWriter{w})
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// PrintJSONLine writes a value as one line of JSON, with unprintable characters escaped.
func PrintJSONLine(w io.Writer, value any) error {
	return json.NewEncoder(jsonWriter{w}).Encode(value)
}

// jsonWriter escapes unprintable characters of JSON. They occur only in strings, so the value stays
// the same.
type jsonWriter struct{ w io.Writer }

func (p jsonWriter) Write(data []byte) (int, error) {
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

func notInJSON(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
