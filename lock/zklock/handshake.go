package zklock

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"time"
)

// A handshakeConn is a connection that extracts the session's timeout from the first message of the
// server.
type handshakeConn struct {
	net.Conn
	limit  time.Duration // the time limit of the handshake: the client itself would wait for more than 6 sessions
	gave   func(timeout time.Duration)
	failed func(error) (expired bool) // called instead of gave; then the client reads that its session has expired
	head   []byte
	reply  []byte // in place of the server's
	done   bool
}

// The first message begins with its length, the version of the protocol, and the timeout in
// milliseconds, in four bytes each. The timeout is 0 if the session has expired.
const handshakeBytes = 12

// handshakeLimit returns how long a server may take for its first message. A server that is just
// starting may accept a connection and never serve it. The session must outlive that.
func handshakeLimit(session time.Duration) time.Duration {
	return max(min(session/3, 10*time.Second), time.Second)
}

// Read must be called by one goroutine only.
func (c *handshakeConn) Read(b []byte) (int, error) {
	if len(c.reply) > 0 {
		n := copy(b, c.reply)
		c.reply = c.reply[n:]
		return n, nil
	}
	n, err := c.Conn.Read(b)
	if c.done {
		return n, err
	}
	c.head = append(c.head, b[:min(n, handshakeBytes-len(c.head))]...)
	if len(c.head) == handshakeBytes {
		c.done = true
		if ms := binary.BigEndian.Uint32(c.head[8:]); ms > 0 {
			c.gave(time.Duration(ms) * time.Millisecond)
		}
	} else if err != nil && c.failed(err) && len(c.head) == 0 {
		c.done, c.reply = true, expiredReply()
		return c.Read(b)
	}
	return n, err
}

// SetReadDeadline limits the time of the handshake.
func (c *handshakeConn) SetReadDeadline(t time.Time) error {
	if latest := time.Now().Add(c.limit); !c.done && t.After(latest) {
		t = latest
	}
	return c.Conn.SetReadDeadline(t)
}

// A ring gives the client one server after the other, in random order. The client's own list pauses
// earlier; a ring pauses only after all servers have failed, so that the session of a single server
// is resumed at once. Names are resolved by each dial.
type ring struct {
	servers []string
	next    int
	failed  int // since the last connection
}

// Init sets the servers.
func (r *ring) Init(servers []string) error {
	r.servers = append([]string(nil), servers...)
	rand.Shuffle(len(r.servers), func(i, j int) { r.servers[i], r.servers[j] = r.servers[j], r.servers[i] })
	return nil
}

// Len returns the number of servers.
func (r *ring) Len() int { return len(r.servers) }

// Next returns the next server, and whether all have failed since the last
// connection.
func (r *ring) Next() (server string, pause bool) {
	server = r.servers[r.next%len(r.servers)]
	pause = r.failed > 0 && r.failed%len(r.servers) == 0
	r.next++
	r.failed++
	return server, pause
}

// Connected records that the last server was reached.
func (r *ring) Connected() { r.failed = 0 }
