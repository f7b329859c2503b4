package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// readGo reads a file of Go. It ignores build constraints: a name counts if it exists on any system.
func readGo(f *file, text string) error {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, f.path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	lines := strings.Split(text, "\n")
	for _, s := range lines {
		if strings.TrimSpace(s) != "" {
			f.code++
		}
	}
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			f.readComment(set.Position(c.Pos()), c.Text, lines)
		}
	}
	for _, decl := range parsed.Decls {
		if d, is := decl.(*ast.FuncDecl); is && !f.test {
			f.longest = max(f.longest, set.Position(d.End()).Line-set.Position(d.Pos()).Line+1)
		}
		if f.library() && parsed.Name.Name != "main" {
			f.names = append(f.names, exported(decl)...)
		}
	}
	f.testing = slices.ContainsFunc(parsed.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
	f.readTexts(set, parsed)
	return nil
}

// library reports whether programs outside this module can import the package of the file.
func (f *file) library() bool {
	top, _, _ := strings.Cut(f.path, "/")
	return !f.test && slices.Contains([]string{"lock", "scheduler", "jobs", "ops"}, top) && !strings.Contains(f.path, "/internal/")
}

// readComment adds the lines of a comment, and takes those that have no code before it from the count of the code.
func (f *file) readComment(at token.Position, text string, lines []string) {
	for i, s := range strings.Split(text, "\n") {
		number := at.Line + i
		if strings.TrimSpace(lines[number-1]) == "" {
			continue
		}
		f.comments = append(f.comments, line{number, strings.Trim(s, "/* \t\r")})
		if i > 0 || strings.TrimSpace(lines[number-1][:at.Column-1]) == "" {
			f.code--
		}
	}
}

// readTexts adds each line of the string literals that have two words or more: help, metric, log and error texts. It leaves
// struct tags out.
func (f *file) readTexts(set *token.FileSet, parsed *ast.File) {
	ast.Inspect(parsed, func(node ast.Node) bool {
		if field, is := node.(*ast.Field); is && field.Tag != nil {
			field.Tag = nil
		}
		literal, is := node.(*ast.BasicLit)
		if !is || literal.Kind != token.STRING {
			return true
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil || len(strings.Fields(value)) < 2 {
			return true
		}
		number := set.Position(literal.Pos()).Line
		for i, s := range strings.Split(value, "\n") {
			at := number
			if literal.Value[0] == '`' {
				at += i
			}
			f.texts = append(f.texts, line{at, s})
		}
		return true
	})
}

// exported returns the exported names that a declaration adds to its package. It leaves out methods and fields.
func exported(decl ast.Decl) (names []name) {
	add := func(kind string, id *ast.Ident) {
		if id.IsExported() {
			names = append(names, name{kind, id.Name})
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add("func", d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				add("type", s.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					add(d.Tok.String(), id)
				}
			}
		}
	}
	return names
}
