package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
)

// A room is the sum of the files of one folder and those below it.
type room struct {
	name        string
	files       int // without tests
	code, tests int // lines of Go and Lua that are neither blank nor only a comment
	names       int // exported names
	longest     int // lines of the longest function
	comments    int // lines of comments, without tests
	wordy       []string
}

// share returns the number of wordy lines per hundred lines of comments.
func (r *room) share() float64 { return 100 * float64(len(r.wordy)) / float64(max(1, r.comments)) }

func (r *room) add(f *file) {
	if f.test {
		r.tests += f.code
		return
	}
	r.files++
	r.code += f.code
	r.names += len(f.names)
	r.longest = max(r.longest, f.longest)
	r.comments += len(f.comments)
	r.wordy = append(r.wordy, f.wordyLines()...)
}

// rooms returns the rooms in the order of their names.
func rooms(files []*file) []*room {
	all := map[string]*room{}
	for _, f := range files {
		name := f.room()
		if all[name] == nil {
			all[name] = &room{name: name}
		}
		all[name].add(f)
	}
	return slices.SortedFunc(maps.Values(all), func(a, b *room) int { return cmp.Compare(a.name, b.name) })
}

// weigh prints a line for each room, and one for all.
func weigh(w io.Writer, files []*file) {
	whole := &room{name: "all"}
	for _, f := range files {
		whole.add(f)
	}
	fmt.Fprintf(w, "%-28s %6s %7s %7s %6s %8s %7s\n", "room", "files", "code", "tests", "names", "longest", "wordy %")
	for _, r := range append(rooms(files), whole) {
		fmt.Fprintf(w, "%-28s %6d %7d %7d %6d %8d %7.1f\n", r.name, r.files, r.code, r.tests, r.names, r.longest, r.share())
	}
}
