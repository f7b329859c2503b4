// Package hole simulates a network that fails silently: nothing is refused or closed, and nothing
// is transferred any more.
package hole

import (
	"context"
	"net"
	"sync"
)

// A Hole is the network of some connections. It works until Cut is called.
type Hole struct {
	gone chan struct{}
	once sync.Once
}

// New returns a network that works.
func New() *Hole { return &Hole{gone: make(chan struct{})} }

// Cut ends the network, for existing and for new connections.
func (h *Hole) Cut() { h.once.Do(func() { close(h.gone) }) }

// Dial connects through the network. After Cut it hangs until ctx ends.
func (h *Hole) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	select {
	case <-h.gone:
		<-ctx.Done()
		return nil, ctx.Err()
	default:
	}
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, hole: h}, nil
}

type conn struct {
	net.Conn
	hole *Hole
}

func (c *conn) cut() bool {
	select {
	case <-c.hole.gone:
		return true
	default:
		return false
	}
}

// Write discards data after Cut, as a sender's buffer does.
func (c *conn) Write(b []byte) (int, error) {
	if c.cut() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Read hangs until its deadline after Cut.
func (c *conn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.cut() {
			return n, err
		}
	}
}
