package zklock_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A proxy forwards connections to a server. Instead of forwarding one of the server's messages it
// can cut the connection. It can also go silent: then it forwards nothing in either direction, and
// closes nothing.
type proxy struct {
	net.Listener
	cut    atomic.Int32 // cuts the connection at this message, counted from now on; 0: at none
	silent atomic.Bool
	slow   atomic.Bool      // nothing is forwarded while it is true
	held   atomic.Int32     // messages that were kept for that time
	asked  [32]atomic.Int32 // forwarded requests, by operation
	read   atomic.Int64     // bytes of the server's messages
	wg     sync.WaitGroup
	mu     sync.Mutex
	conns  []net.Conn
}

func newProxy(t *testing.T, server string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{Listener: l}
	p.wg.Go(func() { relay(l, server, p.join) })
	t.Cleanup(func() {
		_ = l.Close()
		p.sever()
		p.wg.Wait()
	})
	return p
}

// creates returns how many requests for a new node were forwarded.
func (p *proxy) creates() int32 {
	const create, create2, createContainer = 1, 15, 19
	return p.asked[create].Load() + p.asked[create2].Load() + p.asked[createContainer].Load()
}

func (p *proxy) addr() string { return p.Addr().String() }

// sever closes all connections.
func (p *proxy) sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// relay joins each connection that l accepts with a connection to a server, until l is closed.
func relay(l net.Listener, server string, join func(in, out net.Conn)) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", server)
		if err != nil {
			_ = in.Close()
			continue
		}
		join(in, out)
	}
}

func (p *proxy) join(in, out net.Conn) {
	p.mu.Lock()
	p.conns = append(p.conns, in, out)
	p.mu.Unlock()
	p.wg.Go(func() { p.pass(in, out, false) })
	p.wg.Go(func() { p.pass(out, in, true) })
}

// pass forwards messages: each is its length and that many bytes. It ends the connection of a client of
// another protocol, which may have used the port before.
func (p *proxy) pass(from, to net.Conn, replies bool) {
	defer from.Close()
	defer to.Close()
	for {
		msg := make([]byte, 4)
		if _, err := io.ReadFull(from, msg); err != nil {
			return
		}
		size := binary.BigEndian.Uint32(msg)
		if size > 4<<20 { // a server accepts one megabyte
			return
		}
		msg = append(msg, make([]byte, size)...)
		if _, err := io.ReadFull(from, msg[4:]); err != nil {
			return
		}
		if p.slow.Load() {
			p.held.Add(1)
		}
		for p.slow.Load() {
			<-time.After(time.Millisecond)
		}
		if p.silent.Load() {
			continue
		}
		switch {
		case replies:
			p.read.Add(int64(len(msg)))
		case len(msg) >= 12: // its length, its number, its operation
			if op := binary.BigEndian.Uint32(msg[8:]); op < uint32(len(p.asked)) {
				p.asked[op].Add(1)
			}
		}
		if replies && p.cut.Load() > 0 && p.cut.Add(-1) == 0 {
			return
		}
		if _, err := to.Write(msg); err != nil {
			return
		}
	}
}
