package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A file is a source file of Go, Lua or SQL.
type file struct {
	path string // below the root, with slashes
	test bool

	testing  bool   // it imports testing
	code     int    // lines that are neither blank nor only a comment; 0 in SQL
	longest  int    // lines of the longest function of Go
	comments []line // lines of comments
	texts    []line // of Go: string literals that may be read by a person
	names    []name // of Go: exported names at the top level of a library package
}

// A line is a text with its place in the file.
type line struct {
	number int
	text   string
}

// A name is an exported name of a package.
type name struct{ kind, name string }

// room returns the folder of depth two in which the file is.
func (f *file) room() string {
	parts := strings.Split(path.Dir(f.path), "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// readTree reads all source files below root, in the order of their paths. It leaves out testdata and hidden folders.
func readTree(root string) (files []*file, err error) {
	err = filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if at != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		below, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		f := &file{path: filepath.ToSlash(below), test: strings.HasSuffix(at, "_test.go")}
		read := map[string]func(*file, string) error{".go": readGo, ".lua": readLua, ".sql": readSQL}[filepath.Ext(at)]
		if read == nil {
			return nil
		}
		text, err := os.ReadFile(at)
		if err == nil {
			err = read(f, string(text))
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", f.path, err)
		}
		files = append(files, f)
		return nil
	})
	dropTestTexts(files)
	return files, err
}

// dropTestTexts removes the texts of packages that help tests: they are names and failures of tests.
func dropTestTexts(files []*file) {
	helps := map[string]bool{}
	for _, f := range files {
		helps[path.Dir(f.path)] = helps[path.Dir(f.path)] || f.testing && !f.test
	}
	for _, f := range files {
		if helps[path.Dir(f.path)] {
			f.texts = nil
		}
	}
}

// readLua reads the comments and counts the code. A comment behind code is not found.
func readLua(f *file, text string) error {
	for i, s := range strings.Split(text, "\n") {
		s = strings.TrimSpace(s)
		switch comment, is := strings.CutPrefix(s, "--"); {
		case is:
			f.comments = append(f.comments, line{i + 1, comment})
		case s != "":
			f.code++
		}
	}
	return nil
}

// readSQL is readLua without the count.
func readSQL(f *file, text string) error {
	err := readLua(f, text)
	f.code = 0
	return err
}
