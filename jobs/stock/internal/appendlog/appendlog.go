// Package appendlog reads the records of a sale's orders from an append log of Redis.
package appendlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Sale says which keys of a log belong to a sale.
type Sale struct {
	Orders string // the prefix of the keys of orders; the rest of a key is the order's id
	Shelf  string // the key of the shelf
	DB     int    // the number of the database that has these keys
}

// A Log is the content of an append log.
type Log struct {
	Read    []string          // names of the files whose commands were read
	NotRead []string          // names of the files with a snapshot, which is skipped
	Earlier int               // number of records before the last completed rebuild, which are left out
	Records map[string]string // by order id: the last record that was not deleted
}

// errSnapshot is the error of a log without commands.
var errSnapshot = errors.New("a snapshot in RDB form alone, of which no order is known: Redis writes one when it rewrites its log, unless aof-use-rdb-preamble is no")

// Read reads the log at a path: a folder with a manifest, or one file. The end of the last file
// may be missing. Any other damage is an error that names the file and the offset.
func Read(ctx context.Context, path string, sale Sale) (*Log, error) {
	files, err := logFiles(path)
	if err != nil {
		return nil, err
	}
	l := &Log{}
	c := newCollector(sale)
	for i, file := range files {
		snapshot, commands, err := c.readFile(ctx, file, i == len(files)-1)
		if err == nil && len(files) == 1 && !commands {
			err = errSnapshot
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if snapshot {
			l.NotRead = append(l.NotRead, filepath.Base(file))
		}
		if commands {
			l.Read = append(l.Read, filepath.Base(file))
		}
	}
	l.Records, l.Earlier = c.records(), c.earlier
	return l, nil
}

// logFiles returns the files of an append log, in the order in which they are read.
func logFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	manifests, err := fs.Glob(os.DirFS(path), "*.manifest")
	if err != nil {
		return nil, err
	}
	if len(manifests) != 1 {
		return nil, fmt.Errorf("%s has %d files *.manifest, want one", path, len(manifests))
	}
	name := filepath.Join(path, manifests[0])
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	files, err := parseManifest(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i := range files {
		files[i] = filepath.Join(path, files[i])
	}
	return files, nil
}

// parseManifest returns the file names of a manifest: the base, then the others in their order. It
// leaves out history files, which Redis is about to delete: their orders are in the base.
func parseManifest(text string) ([]string, error) {
	type part struct {
		name string
		base bool
		seq  int64
	}
	var parts []part
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 6 || words[0] != "file" || words[2] != "seq" || words[4] != "type" {
			return nil, fmt.Errorf("line %d is %s, want file NAME seq NUMBER type b, h or i", n, quote(strings.TrimSpace(line)))
		}
		seq, err := strconv.ParseInt(words[3], 10, 64)
		if err != nil || words[1] != filepath.Base(words[1]) || words[1] == ".." || !slices.Contains([]string{"b", "h", "i"}, words[5]) {
			return nil, fmt.Errorf("line %d is %s, want file NAME seq NUMBER type b, h or i", n, quote(strings.TrimSpace(line)))
		}
		if words[5] != "h" {
			parts = append(parts, part{words[1], words[5] == "b", seq})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		switch {
		case a.base != b.base && a.base:
			return -1
		case a.base != b.base:
			return 1
		}
		return int(min(1, max(-1, a.seq-b.seq)))
	})
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	return names, nil
}

// quote quotes a text from a log and cuts it, so that a log cannot flood an error.
func quote(text string) string { return fmt.Sprintf("%.64q", text) }
