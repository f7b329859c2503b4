// Package strictyaml decodes a configuration file and reports all of its faults at once, each with
// file, line, column and path. For an unknown key it suggests the nearest known one.
//
// It accepts the plain part of YAML: mappings, lists and scalars in one document. Anchors, aliases,
// merge keys and tags are refused, so that each value is where its key is, and a small file cannot
// expand into a large document.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxSize bounds a file, in bytes.
const MaxSize = 1 << 20

// maxFaults bounds the faults that are reported, for a file that is not a configuration at all.
const maxFaults = 20

// The parser needs memory in proportion to the number of nodes, a kilobyte or more for each. Its
// time grows with the square of the depth (of brackets inside brackets, and of "- - -" along a
// line), of the keys of one mapping, of the documents, of successive blank lines, and of odd
// characters in one line. So these are bounded before the parser runs.
const (
	maxNodes  = 100_000
	maxDepth  = 50
	maxColumn = 4096
	maxKeys   = 1000 // of one mapping; no struct has so many fields
	maxBlank  = 1000 // lines in a row
	maxLine   = 64 << 10
)

// An Error is one fault of a file.
type Error struct {
	File   string
	Line   int    // from 1; 0 if the file does not have the key
	Column int    // from 1
	Path   string // jobs[2].spec; empty if the file cannot be read as YAML
	Text   string // the fault, and the allowed values

	// Follows is set if the value was not read, or if the file does not have it, and a mapping that
	// could have it was not read completely: that is a fault of its own.
	Follows bool
}

func (e *Error) Error() string {
	place := e.File
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	switch {
	case e.Path == "":
		return place + ": " + e.Text
	case place == "":
		return e.Path + ": " + e.Text
	}
	return place + ": " + e.Path + ": " + e.Text
}

// A File has the places of the keys of a file. The zero value has none.
type File struct {
	name       string
	places     map[string]place
	partly     map[string]bool // the values that were not read, or not completely
	unread     map[string]bool // those that were not read
	unreadable bool
}

type place struct{ line, column int }

// Fault returns the fault of the value at path with its place in the file. If the file does not
// have the value, it is the place of the mapping that would contain it.
func (f *File) Fault(path, format string, args ...any) *Error {
	at, ok := f.places[path]
	follows := f.unread[path]
	for in := path; !ok && in != ""; at, ok = f.places[in] {
		in = in[:max(strings.LastIndexAny(in, ".["), 0)]
		follows = f.partly[in]
	}
	return &Error{File: f.name, Line: at.line, Column: at.column, Path: path, Text: fmt.Sprintf(format, args...), Follows: follows}
}

// Name returns the name of the file.
func (f *File) Name() string { return f.name }

// Has reports whether the file has a value at path.
func (f *File) Has(path string) bool {
	_, has := f.places[path]
	return has
}

// Unreadable reports whether the file could not be parsed, so that its content is unknown.
func (f *File) Unreadable() bool { return f.unreadable }

// Decode decodes data into the struct that into points to, by yaml tags; it ignores fields without
// a tag. A value that the file does not have, or leaves empty, stays unchanged. A type with
// UnmarshalText decodes itself. The error joins a *Error for each fault; the File is never nil.
func Decode(name string, data []byte, into any) (*File, error) {
	f := &File{name: name, places: map[string]place{}, partly: map[string]bool{}, unread: map[string]bool{}}
	parsed, err := f.parse(data)
	if err != nil {
		f.unreadable = true
		return f, err
	}
	d := &decoder{file: f, fields: map[reflect.Type]map[string][]int{}}
	d.documents(parsed, into)
	return f, d.join()
}

func (f *File) parse(data []byte) (*ast.File, error) {
	if len(data) > MaxSize {
		return nil, &Error{File: f.name, Text: fmt.Sprintf("is %d bytes long, must be up to %d", len(data), MaxSize)}
	}
	if nodes(data) > maxNodes {
		return nil, &Error{File: f.name, Text: fmt.Sprintf("has more than %d nodes", maxNodes)}
	}
	if line, why := badLine(data); why != "" {
		return nil, &Error{File: f.name, Line: line, Column: 1, Text: why}
	}
	tokens := lexer.Tokenize(strings.TrimPrefix(string(data), "\uFEFF")) // some editors write a byte order mark
	if t, why := tooMuch(tokens); t != nil {
		f.places[""] = place{t.Position.Line, t.Position.Column}
		return nil, f.Fault("", "%s", why)
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, f.syntax(err, data)
	}
	return parsed, nil
}

func (d *decoder) documents(parsed *ast.File, into any) {
	for i, doc := range parsed.Docs {
		switch {
		case doc.Body == nil:
		case i > 0:
			d.fault(doc.Body, "", "is a second document, must be the only one")
		default:
			d.decode(doc.Body, reflect.ValueOf(into).Elem(), "")
		}
	}
}

// nodes estimates the number of nodes that the parser would make: one for each line that is neither
// empty nor a comment, for each further list item that begins in it, for each comma and for each
// opening bracket.
func nodes(data []byte) (n int) {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		line = bytes.TrimPrefix(line, []byte("- "))
		n += 1 + bytes.Count(line, []byte("- ")) + bytes.Count(line, []byte(",")) + bytes.Count(line, []byte("[")) + bytes.Count(line, []byte("{"))
	}
	return n
}

// badLine returns the first line that the lexer must not read. It counts like the lexer: a carriage
// return alone ends a line as well.
func badLine(data []byte) (line int, why string) {
	blank := 0
	text := bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	for l := range bytes.Lines(text) {
		line++
		if blank++; len(bytes.TrimSpace(l)) > 0 {
			blank = 0
		}
		switch {
		case len(l) > maxLine:
			return line, fmt.Sprintf("is a line of %d bytes, must be up to %d", len(l), maxLine)
		case blank > maxBlank:
			return line, fmt.Sprintf("is the end of more than %d blank lines", maxBlank)
		}
	}
	return 0, ""
}

// tooMuch returns the first token that the parser must not read, and the reason.
func tooMuch(tokens token.Tokens) (*token.Token, string) {
	depth, documents := 0, 0
	var open mappings
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType:
			open.close(t.Position.Column)
		case token.DocumentHeaderType:
			documents++
		}
		switch {
		case depth > maxDepth || t.Position.Column > maxColumn:
			return t, fmt.Sprintf("nested in more than %d brackets, or beyond column %d", maxDepth, maxColumn)
		case documents > 1:
			return t, "is a second document, must be the only one"
		case t.Type == token.MappingValueType && t.Prev != nil && open.key(t.Prev.Position.Column) > maxKeys:
			return t.Prev, fmt.Sprintf("is a mapping with more than %d keys", maxKeys)
		}
	}
	return nil, ""
}

// mappings are the open mappings at a token: the columns of their keys, in increasing order, and
// the number of keys so far.
type mappings []struct{ column, keys int }

// close removes the mappings whose keys are to the right of a column.
func (m *mappings) close(column int) {
	for len(*m) > 0 && (*m)[len(*m)-1].column > column {
		*m = (*m)[:len(*m)-1]
	}
}

// key counts a key, and returns the number of keys of its mapping.
func (m *mappings) key(column int) int {
	m.close(column)
	if n := len(*m); n == 0 || (*m)[n-1].column < column {
		*m = append(*m, struct{ column, keys int }{column: column})
	}
	last := &(*m)[len(*m)-1]
	last.keys++
	return last.keys
}

// syntax converts an error of the parser into an Error, without its excerpt of the file. It names the
// values that need quotes, and tabs, which the parser describes in other words.
func (f *File) syntax(err error, data []byte) error {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return &Error{File: f.name, Text: err.Error()}
	}
	fault := &Error{File: f.name, Text: "is not valid YAML: " + e.GetMessage()}
	if t := e.GetToken(); t != nil && t.Position != nil {
		fault.Line, fault.Column = t.Position.Line, t.Position.Column
	}
	d := decoder{file: f, faults: f.reserved(data, fault.Line)}
	if d.faults == nil {
		return fault
	}
	return d.join()
}

type decoder struct {
	file   *File
	faults []*Error
	fields map[reflect.Type]map[string][]int // by struct: a list may have ten thousand of one
}

func (d *decoder) fault(node ast.Node, path, format string, args ...any) {
	d.file.mark(path, node)
	d.faults = append(d.faults, d.file.Fault(path, format, args...))
}

func (f *File) mark(path string, node ast.Node) {
	if t := node.GetToken(); t != nil && t.Position != nil {
		f.places[path] = place{t.Position.Line, t.Position.Column}
	}
}

// join joins the faults, which are in the order of the file.
func (d *decoder) join() error {
	var errs []error
	for i, f := range d.faults {
		if i == maxFaults {
			errs = append(errs, fmt.Errorf("%s: and %d more", d.file.name, len(d.faults)-maxFaults))
			break
		}
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}
