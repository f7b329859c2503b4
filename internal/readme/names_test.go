package readme

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// packages are the packages whose names the pages use, with their folders.
var packages = map[string]string{
	"lock": "lock", "driver": "lock/driver", "guard": "lock/guard", "memlock": "lock/memlock", "redislock": "lock/redislock",
	"sqllock": "lock/sqllock", "zklock": "lock/zklock", "redlock": "lock/redlock", "scheduler": "scheduler", "stock": "jobs/stock",
}

var qualified = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)

// Every name of a package that a page mentions is exported by that package, and so is the field or
// method behind it.
func TestNamesExist(t *testing.T) {
	known := map[string]map[string]bool{}
	for name, folder := range packages {
		known[name] = exported(t, filepath.Join(root, folder))
	}
	found := 0
	for _, page := range pages(t) {
		for _, code := range quoted.FindAllString(fenced.ReplaceAllString(read(t, page), ""), -1) {
			for _, m := range qualified.FindAllStringSubmatch(code, -1) {
				names := known[m[1]]
				if names == nil {
					continue
				}
				found++
				if !names[m[2]] || m[3] != "" && !names[m[2]+"."+m[3]] {
					t.Errorf("%s names %s", page, m[0])
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("found %d names: the pages have more", found)
	}
}

// exported returns the exported names of a package, and Type.Member of its types.
func exported(t *testing.T, folder string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			declare(names, decl)
		}
	}
	if len(names) == 0 {
		t.Errorf("%s exports nothing", folder)
	}
	return names
}

func declare(names map[string]bool, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names[d.Name.Name] = true
			return
		}
		receiver := d.Recv.List[0].Type
		if pointer, is := receiver.(*ast.StarExpr); is {
			receiver = pointer.X
		}
		if named, is := receiver.(*ast.Ident); is {
			names[named.Name+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names[name.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				for _, field := range fields(s.Type) {
					names[s.Name.Name+"."+field] = true
				}
			}
		}
	}
}

// fields returns the names inside a struct or an interface.
func fields(kind ast.Expr) (names []string) {
	var list *ast.FieldList
	switch k := kind.(type) {
	case *ast.StructType:
		list = k.Fields
	case *ast.InterfaceType:
		list = k.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

var testName = regexp.MustCompile(`\bTest[A-Z]\w*`)

// Every test that a page names as its proof exists, and so does every test that is selected by
// name: a selection without a test would have no effect.
func TestTestsExist(t *testing.T) {
	known := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			known[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages(t), "Makefile", ".ci/proof") {
		for _, name := range testName.FindAllString(read(t, page), -1) {
			found++
			if !known[name] {
				t.Errorf("%s names %s, which is no test", page, name)
			}
		}
	}
	if found == 0 {
		t.Error("no page names a test")
	}
}
