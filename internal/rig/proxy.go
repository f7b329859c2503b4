package rig

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Faults are the faults of a [Proxy]. The zero value forwards all traffic.
type Faults struct {
	// Swallow loses every n-th reply after the server executed the request. The connection stays open
	// without further traffic, so the client waits.
	Swallow int
	// Cut loses every n-th reply and resets the connection.
	Cut int
	// Delay delays every n-th request and every n-th reply by DelayFor.
	Delay    int
	DelayFor time.Duration
	// Hole forwards no traffic and closes no connection.
	Hole bool
	// Refuse resets all connections, existing and new.
	Refuse bool
}

// A Proxy forwards connections between a node and a store. Replies that arrive together, such as the
// replies of a pipeline, count as one. It may be used concurrently.
type Proxy struct {
	listener net.Listener
	wg       sync.WaitGroup
	stop     chan struct{}

	mu       sync.Mutex
	target   string
	faults   Faults
	changed  chan struct{} // closed when the faults change
	conns    map[net.Conn]struct{}
	replies  int
	requests int
	lost     int
}

// NewProxy starts a proxy on a free loopback port. It stops at the end of the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("rig: proxy: %v", err)
	}
	p := &Proxy{target: target, listener: l, stop: make(chan struct{}), changed: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr returns the address for clients.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes the faults. Connections that an earlier fault blocks stay blocked.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
	close(p.changed)
	p.changed = make(chan struct{})
	if f.Refuse {
		for c := range p.conns {
			reset(c)
		}
	}
}

// Retarget connects clients to another server from now on, and resets the connections to the previous
// one.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for c := range p.conns {
		reset(c)
	}
}

// Lost returns the number of replies that the proxy has lost.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

func (p *Proxy) close() {
	close(p.stop)
	_ = p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		target := p.aim()
		server, err := net.DialTimeout("tcp", target, time.Second)
		if err != nil || !p.keep(target, client, server) {
			reset(client)
			continue
		}
		p.wg.Go(func() { p.pipe(server, client, p.request) })
		p.wg.Go(func() { p.pipe(client, server, p.reply) })
	}
}

func (p *Proxy) aim() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}

// keep registers both ends of a connection, unless the proxy refuses connections, or has been retargeted
// since the dial.
func (p *Proxy) keep(target string, ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.Refuse || p.target != target {
		_ = ends[1].Close()
		return false
	}
	for _, c := range ends {
		p.conns[c] = struct{}{}
	}
	return true
}

// A treatment is the decision about one piece of traffic.
type treatment int

const (
	forward treatment = iota
	swallow           // this piece and all later ones
	cut
)

// pipe copies pieces from one end to the other until one of them ends. judge decides about each piece.
func (p *Proxy) pipe(to, from net.Conn, judge func() treatment) {
	defer p.forget(to, from)
	buf := make([]byte, 64<<10)
	dead := false
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if dead {
			continue
		}
		switch judge() {
		case swallow:
			dead = true
		case cut:
			reset(to)
			return
		default:
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
}

func (p *Proxy) forget(ends ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range ends {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// request decides about a piece that a client sent.
func (p *Proxy) request() treatment {
	p.mu.Lock()
	p.requests++
	f, n, changed := p.faults, p.requests, p.changed
	p.mu.Unlock()
	return p.hold(f, n, changed)
}

// reply decides about a piece that the server sent.
func (p *Proxy) reply() treatment {
	p.mu.Lock()
	p.replies++
	f, n, changed := p.faults, p.replies, p.changed
	lost := forward
	switch {
	case f.Cut > 0 && n%f.Cut == 0:
		lost = cut
	case f.Swallow > 0 && n%f.Swallow == 0:
		lost = swallow
	}
	if lost != forward {
		p.lost++
	}
	p.mu.Unlock()
	if lost != forward {
		return lost
	}
	return p.hold(f, n, changed)
}

// hold delays a piece: by DelayFor, or in a hole until the faults change.
func (p *Proxy) hold(f Faults, n int, changed <-chan struct{}) treatment {
	var over <-chan time.Time
	switch {
	case f.Hole:
	case f.Delay > 0 && n%f.Delay == 0:
		t := time.NewTimer(f.DelayFor)
		defer t.Stop()
		over, changed = t.C, nil
	default:
		return forward
	}
	select {
	case <-over:
	case <-changed:
	case <-p.stop:
		return cut
	}
	return forward
}

// reset closes a connection with a reset.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
