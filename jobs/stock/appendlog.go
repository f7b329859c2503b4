package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// An AppendLog is what an append log of Redis has of a sale's orders.
type AppendLog struct {
	// Read and NotRead are the names of the files that were read, and of those with a snapshot in RDB form, whose
	// orders are not known. A file that begins with a snapshot and goes on with commands is in both.
	Read, NotRead []string
	// Earlier is how many records are left out, since the shelf was rebuilt after them: those orders were settled, or were lost
	// in an earlier loss.
	Earlier int

	records map[string]string // by the id of the order, the last record that was not deleted
}

// Orders is how many orders the log has, those among them that the book knows.
func (l *AppendLog) Orders() int { return len(l.records) }

// errSnapshot is that of an append log that is nothing but a snapshot.
var errSnapshot = errors.New("a snapshot in RDB form alone, of which no order is known: Redis writes one when it rewrites its log, unless aof-use-rdb-preamble is no")

// ReadAppendLog reads the records of the sale's orders from an append log: a folder (appenddirname) with the
// manifest and the files that it names, or one file. FLUSHALL and FLUSHDB remove nothing of what was
// written before them: that is what is looked for. A rebuild of the shelf that came to its end is a border: what is before it
// was settled, or lost before. The end of the last file may be missing, as Redis itself
// allows it; anything else that is no log is an error that names the file and the offset, and so is a log of which
// all is a snapshot.
//
// It holds one record of each order of the log, and one transaction, in memory.
func (s *Sale) ReadAppendLog(ctx context.Context, path string) (*AppendLog, error) {
	files, err := appendLogFiles(path)
	if err != nil {
		return nil, fmt.Errorf("stock: read append log: %w", err)
	}
	l := &AppendLog{}
	found := newCollector(s.prefix, selectedDB(s.client))
	for i, file := range files {
		snapshot, commands, err := found.readFile(ctx, file, i == len(files)-1)
		if err == nil && len(files) == 1 && !commands {
			err = errSnapshot
		}
		if err != nil {
			return nil, fmt.Errorf("stock: read append log: %s: %w", file, err)
		}
		if snapshot {
			l.NotRead = append(l.NotRead, filepath.Base(file))
		}
		if commands {
			l.Read = append(l.Read, filepath.Base(file))
		}
	}
	l.records, l.Earlier = found.records(), found.earlier
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

// join puts what a log has of orders that the book does not have, or not as far, to what the store still has,
// which holds where it is as far. Orders that an operator must decide about, or has decided about, stay with the operator.
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
		decided, err := s.options.Book.decidedAbout(ctx, s.ID(), some)
		if err != nil {
			return fmt.Errorf("look up decisions: %w", err)
		}
		for _, id := range some {
			have, known := found[id]
			r, err := parseRecord(id, log.records[id])
			i, stored := at[id]
			switch {
			case passed[id], known && (err != nil || have.knows(r) || have.later(r)), err == nil && decided[placedAs{id, r.Placed.UnixMilli()}]:
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

// A placedAs is an order that was placed under an id, and when, in Unix ms.
type placedAs struct {
	id     string
	placed int64
}

// decidedAbout returns the disputed orders under some ids that an operator has decided about: such an order may have
// gone on under another id, or its money has gone back, and the book does not have it under this one.
func (b *Database) decidedAbout(ctx context.Context, sale string, ids []string) (map[placedAs]bool, error) {
	query := "SELECT order_id, store_has FROM stock_decision WHERE sale = ? AND action IN (?, ?, ?) AND order_id IN (" + sqltext.Marks(len(ids)) + ")"
	decided := map[placedAs]bool{}
	err := eachRow(ctx, b.db, b.dialect, query, argsOf(ids, sale, string(Accept), string(Refund), string(Drop)), func(row *sql.Rows) error {
		var id, line string
		err := row.Scan(&id, &line)
		if r, unreadable := parseRecord(id, line); err == nil && unreadable == nil {
			decided[placedAs{id, r.Placed.UnixMilli()}] = true
		}
		return err
	})
	return decided, err
}
