package stock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// An AppendLog is what an append log of Redis has of a sale's orders.
type AppendLog struct {
	// Read and NotRead are the names of the files that were read, and of those that were not: a
	// snapshot in RDB form, whose orders are not known.
	Read, NotRead []string

	records map[string]string // by the id of the order, the last record that was not deleted
}

// Orders is how many orders the log has, those among them that the book knows.
func (l *AppendLog) Orders() int { return len(l.records) }

// ReadAppendLog reads the records of the sale's orders from an append log: a folder (appenddirname) with the
// manifest and the files that it names, or one file. FLUSHALL and FLUSHDB remove nothing of what was
// written before them: that is what is looked for. The end of the last file may be missing, as Redis itself
// allows it; anything else that is no log is an error that names the file and the offset.
//
// It holds one record of each order of the log, and one transaction, in memory.
func (s *Sale) ReadAppendLog(ctx context.Context, path string) (*AppendLog, error) {
	files, err := appendLogFiles(path)
	if err != nil {
		return nil, fmt.Errorf("stock: read append log: %w", err)
	}
	l := &AppendLog{records: map[string]string{}}
	for i, file := range files {
		found := collector{prefix: s.prefix + keyOrder, db: selectedDB(s.client), records: l.records}
		snapshot, err := found.readFile(ctx, file, i == len(files)-1)
		if err != nil {
			return nil, fmt.Errorf("stock: read append log: %s: %w", file, err)
		}
		if snapshot {
			l.NotRead = append(l.NotRead, filepath.Base(file))
		} else {
			l.Read = append(l.Read, filepath.Base(file))
		}
	}
	return l, nil
}

// selectedDB is the number of the database that a client uses.
func selectedDB(client redis.UniversalClient) int {
	if c, ok := client.(*redis.Client); ok {
		return c.Options().DB
	}
	return 0 // a cluster has no other
}

// appendLogFiles returns the files of an append log, in the order in which they are read.
func appendLogFiles(path string) ([]string, error) {
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

// parseManifest returns the names of the files of a manifest: the base, then the others in their order. What
// is history is about to be deleted, and its orders are in the base.
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

// A collector keeps the last record of each order that a log has.
type collector struct {
	prefix  string // of the keys of orders
	db      int    // that the sale is in
	records map[string]string

	selected int
	multi    bool
	pending  [][]string // commands of a transaction that has not ended, those about orders
}

// readFile reads one file, and reports whether it is a snapshot, which it leaves. Only the last may end in the
// middle of a command.
func (c *collector) readFile(ctx context.Context, path string, last bool) (snapshot bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	if head, _ := r.Peek(5); string(head) == "REDIS" {
		return true, nil
	}
	err = c.read(ctx, r)
	if last && errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return false, err
}

// read reads commands to the end. A transaction that has no end never happened.
func (c *collector) read(ctx context.Context, r *bufio.Reader) error {
	log := commands{r: r}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		args, err := log.next()
		switch {
		case errors.Is(err, io.EOF) && c.multi:
			return fmt.Errorf("offset %d: its last transaction has no end: %w", log.offset, io.ErrUnexpectedEOF)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := c.command(args); err != nil {
			return fmt.Errorf("offset %d: %w", log.began, err)
		}
	}
}

func (c *collector) command(args []string) error {
	switch name := strings.ToUpper(args[0]); name {
	case "SELECT":
		if len(args) != 2 {
			return errors.New("SELECT has no number")
		}
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return fmt.Errorf("SELECT %s: %w", quote(args[1]), err)
		}
		c.selected = n
	case "MULTI":
		c.multi, c.pending = true, nil
	case "EXEC":
		for _, held := range c.pending {
			c.apply(held)
		}
		c.multi, c.pending = false, nil
	case "SET", "DEL", "UNLINK":
		if c.selected != c.db || len(args) < 2 {
			return nil
		}
		args[0] = name
		if !slices.ContainsFunc(args[1:], func(key string) bool { return strings.HasPrefix(key, c.prefix) }) {
			return nil
		}
		if c.multi {
			c.pending = append(c.pending, args)
		} else {
			c.apply(args)
		}
	}
	return nil
}

func (c *collector) apply(args []string) {
	if args[0] == "SET" {
		if id, is := strings.CutPrefix(args[1], c.prefix); is && len(args) > 2 {
			c.records[id] = args[2]
		}
		return
	}
	for _, key := range args[1:] {
		if id, is := strings.CutPrefix(key, c.prefix); is {
			delete(c.records, id)
		}
	}
}

// join puts what a log has of orders that the book does not have, or not as far, to what the store still has,
// which holds where it is as far. Orders that an operator must decide about stay with the operator.
func (s *Sale) join(ctx context.Context, log *AppendLog, h *haul) error {
	disputes, err := s.Disputes(ctx)
	if err != nil {
		return err
	}
	passed := map[string]bool{}
	for _, d := range disputes {
		passed[d.ID] = true
	}
	for _, u := range h.unread {
		passed[u.id] = true
	}
	at := map[string]int{} // in h.records
	for i, r := range h.records {
		at[r.ID] = i
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(log.records)), maxBatch) {
		found, err := s.options.Book.find(ctx, s.ID(), some)
		if err != nil {
			return fmt.Errorf("look up orders: %w", err)
		}
		for _, id := range some {
			have, known := found[id]
			r, err := parseRecord(id, log.records[id])
			i, stored := at[id]
			switch {
			case passed[id], known && (err != nil || have.knows(r) || have.later(r)):
			case err != nil && !stored:
				h.unread = append(h.unread, unread{id, err})
			case err != nil:
			case !stored:
				h.records = append(h.records, r)
			case r.Placed.Equal(h.records[i].Placed) && (r.State.follows(h.records[i].State) || r.State == h.records[i].State && len(r.Payments) > len(h.records[i].Payments)):
				h.records[i] = r
			}
		}
	}
	h.lost = slices.DeleteFunc(h.lost, func(id string) bool { return log.records[id] != "" })
	return nil
}
