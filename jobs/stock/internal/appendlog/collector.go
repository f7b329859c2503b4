package appendlog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A collector keeps the last record of each order, without the records before the last completed
// rebuild.
type collector struct {
	sale    Sale
	found   map[string]logged
	earlier int // number of records that are left out

	rebuilds int  // number of rebuilds that have begun
	rebuilt  bool // the latest rebuild has begun and not ended
	selected int  // the database that SELECT has named last
	multi    bool
	pending  [][]string // the sale's commands of a transaction that has not ended
}

// A logged record is a record of the log.
type logged struct {
	line  string
	since int // number of rebuilds that had begun
}

func newCollector(sale Sale) *collector {
	return &collector{sale: sale, found: map[string]logged{}}
}

// records returns the records found, by order id.
func (c *collector) records() map[string]string {
	records := make(map[string]string, len(c.found))
	for id, r := range c.found {
		records[id] = r.line
	}
	return records
}

// readFile reads one file. It reports whether the file begins with a snapshot, which it skips, and
// whether commands follow. Only the last file may end in the middle of a command.
func (c *collector) readFile(ctx context.Context, path string, last bool) (snapshot, commands bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	var from int64
	if head, _ := r.Peek(len(snapshotHead)); string(head) == snapshotHead {
		var ends bool
		if from, ends, err = skipSnapshot(ctx, r); err != nil {
			return true, false, err
		}
		if _, err := r.Peek(1); !ends || err != nil {
			return true, false, nil
		}
		snapshot = true
	}
	err = c.read(ctx, r, from)
	if last && errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return snapshot, true, err
}

// read reads commands from an offset to the end. A transaction without an end was never executed,
// so its commands are dropped.
func (c *collector) read(ctx context.Context, r *bufio.Reader, from int64) error {
	c.selected, c.multi, c.pending = 0, false, nil
	log := commands{r: r, offset: from}
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
	case "SET", "DEL", "UNLINK", "HSET", "HDEL":
		if c.selected != c.sale.DB || len(args) < 2 {
			return nil
		}
		args[0] = name
		if !slices.ContainsFunc(args[1:], func(key string) bool { return key == c.sale.Shelf || strings.HasPrefix(key, c.sale.Orders) }) {
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
	switch args[0] {
	case "SET":
		if id, is := strings.CutPrefix(args[1], c.sale.Orders); is && len(args) > 2 {
			c.found[id] = logged{args[2], c.rebuilds}
		}
	case "HSET":
		if i := slices.Index(args, "restoring"); args[1] == c.sale.Shelf && i > 2 && args[i-1] == "closed" { // lua/begin.lua closes the shelf
			c.rebuilds, c.rebuilt = c.rebuilds+1, true
		}
	case "HDEL":
		if args[1] == c.sale.Shelf && c.rebuilt && slices.Contains(args[2:], "closed") { // lua/open.lua opens it
			c.border()
		}
	default:
		for _, key := range args[1:] {
			if id, is := strings.CutPrefix(key, c.sale.Orders); is {
				delete(c.found, id)
			}
		}
	}
}

// border drops the records from before a completed rebuild: the rebuild has put all orders of the
// book onto the shelf, and the log has these again.
func (c *collector) border() {
	c.rebuilt = false
	for id, r := range c.found {
		if r.since < c.rebuilds {
			c.earlier++
			delete(c.found, id)
		}
	}
}
