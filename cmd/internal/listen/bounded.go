// Package listen bounds the connections of the listeners of a process.
package listen

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Listen listens at an address and bounds its open connections. When the bound is reached, a new
// connection replaces the one that has been silent for longest, which is closed. So idle
// connections do not keep callers out.
func Listen(address string, most int) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &bounded{Listener: l, most: most, open: map[*connection]struct{}{}}, nil
}

// bounded is a listener with a bound on its open connections.
type bounded struct {
	net.Listener
	most int

	mu   sync.Mutex
	open map[*connection]struct{}
}

// Accept returns the next connection. It does not wait for another connection to end.
func (b *bounded) Accept() (net.Conn, error) {
	accepted, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, listener: b}
	c.used.Store(time.Now().UnixNano())
	if silent := b.add(c); silent != nil {
		_ = silent.Close()
	}
	return c, nil
}

// add counts a connection, and returns the connection to close in exchange; nil: there is room.
func (b *bounded) add(c *connection) (silent *connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.open) >= b.most {
		for other := range b.open {
			if silent == nil || other.used.Load() < silent.used.Load() {
				silent = other
			}
		}
		delete(b.open, silent)
	}
	b.open[c] = struct{}{}
	return silent
}

func (b *bounded) remove(c *connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, c)
}

// A connection records when it last carried data.
type connection struct {
	net.Conn
	listener *bounded
	used     atomic.Int64 // nanoseconds since 1970
}

func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.moved(n)
	return n, err
}

func (c *connection) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.moved(n)
	return n, err
}

func (c *connection) moved(n int) {
	if n > 0 {
		c.used.Store(time.Now().UnixNano())
	}
}

func (c *connection) Close() error {
	c.listener.remove(c)
	return c.Conn.Close()
}
