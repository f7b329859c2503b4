// Package hole is a network that goes without a sound: nothing is refused or
// closed, and nothing comes or goes any more.
package hole

import (
	"context"
	"net"
	"sync"
)

// A Hole is the network of some connections. It works until Cut.
type Hole struct {
	gone chan struct{}
	once sync.Once
}

// New returns a network that works.
func New() *Hole { return &Hole{gone: make(chan struct{})} }

// Cut ends it, for connections that are there and for those that come.
func (h *Hole) Cut() { h.once.Do(func() { close(h.gone) }) }

// Dial connects through the network. Once it is gone Dial hangs until ctx ends.
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

// Write loses what is written, as a sender's buffer does.
func (c *conn) Write(b []byte) (int, error) {
	if c.cut() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Read hangs until its deadline.
func (c *conn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.cut() {
			return n, err
		}
	}
}
