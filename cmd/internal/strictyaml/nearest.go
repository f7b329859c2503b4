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
// most a third of its length, but at least one is allowed), or one that begins with key. It
// returns "" if there is none.
func Nearest(key string, names []string) string {
	best, edits := "", 0
	for _, name := range names {
		n := distance(strings.ToLower(key), name)
		if n <= max(1, len(name)/3) && n < len(name) && (best == "" || n < edits) {
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

// distance returns the number of edits to get from a to b: to insert, remove or replace a byte, or to
// swap two neighbours. Keys are short; a long one is not a typing error.
func distance(a, b string) int {
	if len(a) > 100 {
		return len(a)
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
