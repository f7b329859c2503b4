package main

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// surface returns the exported names of the library, sorted: the folder of each package, and below it a line for each name.
func surface(files []*file) string {
	packages := map[string]map[string]bool{}
	for _, f := range files {
		folder := path.Dir(f.path)
		for _, n := range f.names {
			if packages[folder] == nil {
				packages[folder] = map[string]bool{}
			}
			packages[folder][n.name+" "+n.kind] = true // once, also if systems have files of their own
		}
	}
	var text strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		text.WriteString(folder + "\n")
		for _, n := range slices.Sorted(maps.Keys(packages[folder])) {
			text.WriteString("\t" + n + "\n")
		}
	}
	return text.String()
}
