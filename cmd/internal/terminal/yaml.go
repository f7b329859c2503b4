package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
)

// PrintYAML writes a value as YAML, with the names of its JSON. It quotes each text and escapes
// unprintable characters, so that no text is read as another type.
func PrintYAML(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	p := yamlPrinter{dec: dec}
	if err := p.value(0, false); err != nil {
		return err
	}
	_, err = io.WriteString(w, p.b.String())
	return err
}

// A yamlPrinter writes the tokens of a JSON text as YAML.
type yamlPrinter struct {
	dec *json.Decoder
	b   strings.Builder
}

// value writes the next value. If inline is set, the value follows a key or a dash and may continue
// on that line.
func (p *yamlPrinter) value(depth int, inline bool) error {
	token, err := p.dec.Token()
	if err != nil {
		return err
	}
	if delim, is := token.(json.Delim); is {
		return p.several(depth, inline, delim == '{')
	}
	if inline {
		p.b.WriteString(" ")
	}
	switch v := token.(type) {
	case string:
		p.b.WriteString(yamlText(v))
	case nil:
		p.b.WriteString("null")
	default:
		fmt.Fprint(&p.b, v)
	}
	p.b.WriteString("\n")
	return nil
}

// several writes a map or a list up to its end.
func (p *yamlPrinter) several(depth int, inline, isMap bool) error {
	if !p.dec.More() {
		p.b.WriteString(map[bool]string{true: " "}[inline] + map[bool]string{true: "{}", false: "[]"}[isMap] + "\n")
		_, err := p.dec.Token()
		return err
	}
	if inline {
		p.b.WriteString("\n")
	}
	for p.dec.More() {
		p.b.WriteString(strings.Repeat("  ", depth))
		if isMap {
			key, err := p.dec.Token()
			if err != nil {
				return err
			}
			p.b.WriteString(yamlKey(fmt.Sprint(key)) + ":")
		} else {
			p.b.WriteString("-")
		}
		if err := p.value(depth+1, true); err != nil {
			return err
		}
	}
	_, err := p.dec.Token()
	return err
}

var plainKey = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// yamlKey quotes a key that YAML could read as another value.
func yamlKey(key string) string {
	switch key {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
	default:
		if plainKey.MatchString(key) {
			return key
		}
	}
	return yamlText(key)
}

// yamlText returns a text in double quotes.
func yamlText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
