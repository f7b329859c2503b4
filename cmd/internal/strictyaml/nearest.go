package strictyaml

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// fieldsOf maps the yaml names of a struct's fields to their indexes. The fields of an embedded
// struct are its own.
func fieldsOf(t reflect.Type) map[string][]int {
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" {
			fields[name] = f.Index
		}
	}
	return fields
}

// unknown returns the fault of an unknown key, with the known key that may be meant.
func unknown(key string, fields map[string][]int) string {
	names := slices.Sorted(maps.Keys(fields))
	if near := Nearest(key, names); near != "" {
		return fmt.Sprintf("unknown key, did you mean %q?", near)
	}
	return "unknown key, known are " + strings.Join(names, ", ")
}

// Nearest returns the name that key was probably meant to be: the one with the fewest edits (at
// most a third of its length, but at least two are allowed), or one that begins with key. It
// returns "" if there is none.
func Nearest(key string, names []string) string {
	best, edits := "", 0
	for _, name := range names {
		n := distance(strings.ToLower(key), name)
		if n <= max(2, len(name)/3) && n < len(name) && (best == "" || n < edits) {
			best, edits = name, n
		}
	}
	if best != "" || len(key) < 3 {
		return best
	}
	for _, name := range names {
		if strings.HasPrefix(name, key) {
			return name
		}
	}
	return ""
}

// distance returns the number of bytes to insert, remove or replace to get from a to b
// (Levenshtein). Keys are short; a long one is not a typing error.
func distance(a, b string) int {
	if len(a) > 100 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, corner+1, row[j]+1)
		}
	}
	return row[len(b)]
}
