// Package strictyaml decodes a configuration file and reports everything that
// is wrong with it at once: each fault with file, line, column and path, an
// unknown key with the nearest known one.
//
// It takes the plain part of YAML: mappings, lists and scalars in one document.
// Anchors, aliases, merge keys and tags are refused, so that what a key is can be
// read where it stands, and a small file stays small.
package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxSize is how large a file may be, in bytes.
const MaxSize = 1 << 20

// maxFaults keeps a file that is no configuration at all from flooding the
// terminal.
const maxFaults = 20

// The parser takes time in proportion to the square of the depth: of brackets
// inside brackets, and of "- - -" along a line.
const (
	maxDepth  = 50
	maxColumn = 4096
)

// An Error is one thing that is wrong with a file.
type Error struct {
	File   string
	Line   int    // from 1; 0 if the file does not have the key
	Column int    // from 1
	Path   string // jobs[2].spec; empty if the file cannot be read as YAML
	Text   string // what is wrong, and what is allowed
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

// A File remembers where its keys stand. The zero value is a file without any.
type File struct {
	name       string
	places     map[string]place
	unreadable bool
}

type place struct{ line, column int }

// Fault makes a fault of the value at path, with its place in the file: of what
// the file does not have, the place of what it would be in.
func (f *File) Fault(path, format string, args ...any) *Error {
	at, ok := f.places[path]
	for in := path; !ok && in != ""; at, ok = f.places[in] {
		in = in[:max(strings.LastIndexAny(in, ".["), 0)]
	}
	return &Error{File: f.name, Line: at.line, Column: at.column, Path: path, Text: fmt.Sprintf(format, args...)}
}

// Unreadable reports whether the file is no YAML, or none that is looked into: then
// nothing is known of what it says.
func (f *File) Unreadable() bool { return f.unreadable }

// Decode decodes data into the struct that into points to, by its yaml tags;
// fields without one do not exist for it. What the file does not name, or leaves
// empty, keeps its value. A type with UnmarshalText decodes itself. The error
// joins a *Error for each thing that is wrong; the File is never nil.
func Decode(name string, data []byte, into any) (*File, error) {
	f := &File{name: name, places: map[string]place{}}
	parsed, err := f.parse(data)
	if err != nil {
		f.unreadable = true
		return f, err
	}
	d := &decoder{file: f}
	d.documents(parsed, into)
	return f, d.join()
}

func (f *File) parse(data []byte) (*ast.File, error) {
	if len(data) > MaxSize {
		return nil, &Error{File: f.name, Text: fmt.Sprintf("is %d bytes long, allowed is up to %d", len(data), MaxSize)}
	}
	tokens := lexer.Tokenize(string(data))
	if t := tooDeep(tokens); t != nil {
		f.places[""] = place{t.Position.Line, t.Position.Column}
		return nil, f.Fault("", "nested in more than %d brackets, or beyond column %d", maxDepth, maxColumn)
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, f.syntax(err)
	}
	return parsed, nil
}

func (d *decoder) documents(parsed *ast.File, into any) {
	for i, doc := range parsed.Docs {
		switch {
		case doc.Body == nil:
		case i > 0:
			d.fault(doc.Body, "", "is a second document, allowed is one")
		default:
			d.decode(doc.Body, reflect.ValueOf(into).Elem(), "")
		}
	}
}

// tooDeep returns the first token that the parser should not see.
func tooDeep(tokens token.Tokens) *token.Token {
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		}
		if depth > maxDepth || t.Position.Column > maxColumn {
			return t
		}
	}
	return nil
}

// syntax gives an error of the parser our form: without its excerpt of the file.
func (f *File) syntax(err error) error {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return &Error{File: f.name, Text: err.Error()}
	}
	fault := &Error{File: f.name, Text: e.GetMessage()}
	if t := e.GetToken(); t != nil && t.Position != nil {
		fault.Line, fault.Column = t.Position.Line, t.Position.Column
	}
	return fault
}

type decoder struct {
	file   *File
	faults []*Error
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

// join orders the faults as the file does.
func (d *decoder) join() error {
	slices.SortStableFunc(d.faults, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
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
