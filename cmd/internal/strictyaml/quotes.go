package strictyaml

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// bare matches a line with a value that is not quoted and begins with a character that YAML
// reserves. The groups are the text before the value, the key, and the value.
var bare = regexp.MustCompile("^((?:.*[\\s{,])?([A-Za-z_]+):[ \t]+)([*@%`?].*)$")

// tabInQuotes matches a tab in double quotes.
var tabInQuotes = regexp.MustCompile(`"[^"]*\t[^"]*"`)

// tabbed matches a line whose indentation has a tab.
var tabbed = regexp.MustCompile("^[ -]*\t")

// reserved returns the faults of a file that cannot be parsed because of the line at a place: each
// value that needs quotes, each line that is indented by a tab, or each tab in double quotes. Nil:
// another fault.
func (f *File) reserved(data []byte, line int) (faults []*Error) {
	lines := strings.Split(string(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))), "\n")
	if line < 1 || line > len(lines) {
		return nil
	}
	finders := []func(string) *Error{unquoted, indented, doubleQuoted}
	at := slices.IndexFunc(finders, func(find func(string) *Error) bool { return find(lines[line-1]) != nil })
	if at < 0 {
		return nil
	}
	find := finders[at]
	for i, text := range lines {
		if fault := find(text); fault != nil {
			fault.File, fault.Line = f.name, i+1
			faults = append(faults, fault)
		}
	}
	return faults
}

// unquoted returns the fault of a line with a value that needs quotes, without its place in the file.
func unquoted(text string) *Error {
	m := bare.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	before, key, value := m[1], m[2], m[3]
	if strings.ContainsAny(before, `"'#`) {
		return nil // inside quotes, or a comment
	}
	value, _, _ = strings.Cut(value, " #")
	if strings.Contains(before, "{") {
		value = value[:strings.IndexAny(value+",", "},")]
	}
	return &Error{Column: len([]rune(before)) + 1, Text: "begins with " + value[:1] + ", which YAML reserves: quote the " + key + ", as in " + key + ": " + Quote(strings.Join(strings.Fields(value), " "))}
}

// indented returns the fault of a line whose indentation has a tab.
func indented(text string) *Error {
	at := tabbed.FindString(text)
	if at == "" {
		return nil
	}
	return &Error{Column: len(at), Text: "is a tab, must be spaces: YAML allows no tab before a key; put a value with a tab in single quotes (quote the spec)"}
}

// doubleQuoted returns the fault of a line with a tab in double quotes, for which the parser skips
// the character behind the quotes.
func doubleQuoted(text string) *Error {
	at := tabInQuotes.FindStringIndex(text)
	if at == nil {
		return nil
	}
	return &Error{Column: len([]rune(text[:at[0]])) + 1, Text: `has a tab in double quotes, must be in single quotes then, or written as \t`}
}

// hasTab reports whether a value without quotes has a tab, which the parser drops: 1<tab>2 would
// become 12.
func hasTab(node ast.Node) bool {
	s, ok := node.(*ast.StringNode)
	return ok && s.Token.Type == token.StringType && strings.Contains(strings.TrimSpace(s.Token.Origin), "\t")
}
