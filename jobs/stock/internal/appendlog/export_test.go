package appendlog

import (
	"bufio"
	"context"
	"io"
)

// Collect reads the records of a sale whose keys have a prefix.
func Collect(r io.Reader, prefix string) (map[string]string, error) {
	c := newCollector(Sale{Orders: prefix + "order:", Shelf: prefix + "shelf"})
	err := c.read(context.Background(), bufio.NewReaderSize(r, 1<<16), 0)
	return c.records(), err
}

// ParseManifest returns the files of an append log, in their order.
func ParseManifest(text string) ([]string, error) { return parseManifest(text) }
