package zklock

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

var errClosed = errors.New("the driver is closed")

// A session is the connection of a Driver, opened when it is first needed. The Driver owns it
// because its leases are only as good as the session is, and the client package does not return the
// timeout that the server gave.
type session struct {
	servers []string
	options *Options
	timeout atomic.Int64          // the timeout that the server gave last, in nanoseconds; 0: none yet
	trouble atomic.Pointer[error] // why no server has accepted the session since the last one did; nil: none was tried

	refusals refusals // of the goroutine that connects

	mu      sync.Mutex
	conn    *zk.Conn
	closed  bool
	working sync.WaitGroup // running requests, including those whose caller has left

	auth   sync.Mutex // held while the session authenticates
	authed bool
}

// begin returns the connection for one request, and connects if there is none. It does not block.
// If it returns no error, the caller must call end.
func (s *session) begin() (*zk.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	c, err := s.connect()
	if err == nil {
		s.working.Add(1)
	}
	return c, err
}

func (s *session) end() { s.working.Done() }

func (s *session) connect() (*zk.Conn, error) {
	if s.conn != nil {
		return s.conn, nil
	}
	c, events, err := zk.Connect(s.servers, s.options.Session, zk.WithDialer(s.dial),
		zk.WithHostProvider(new(ring)), zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	go func() {
		for range events { // the end of a session is recognised by the session id
		}
	}()
	s.conn = c
	return c, nil
}

// ready makes sure that the session is authenticated. After a reconnection the client authenticates
// by itself.
func (s *session) ready(c *zk.Conn) error {
	if s.options.Scheme == "" {
		return nil
	}
	s.auth.Lock()
	defer s.auth.Unlock()
	if s.authed {
		return nil
	}
	err := c.AddAuth(s.options.Scheme, s.options.Auth)
	s.authed = err == nil
	return err
}

// close ends the session and waits for its requests, which end with it.
func (s *session) close() {
	s.mu.Lock()
	s.closed = true
	c := s.conn
	s.mu.Unlock()
	if c != nil {
		c.Close()
	}
	s.working.Wait()
}

// over reports whether the session was closed.
func (s *session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// trust returns how long the session, and its leases with it, may be trusted after a write was sent
// that the server answered.
//
// The server ends a session one timeout after the last message of its client reached the leader. A
// write that was answered proves that the session had not ended, but it need not be the last
// message that counts: the leader learns about a client of another server only from that server's
// replies to its pings, every half tick, and the client itself sends a ping every third of the
// timeout. So the last message that counts may have reached the leader up to a third of the timeout
// and half a tick earlier. Half of the timeout is safe if it is three ticks or more, while those
// pings are answered.
//
// A leader that stood still may answer a write when it continues, and end the session before its
// next ping is answered. It must have stood still for two thirds of the timeout less a tick. If
// that is longer than its followers wait for it, a new leader has given every session its whole
// timeout again.
func (s *session) trust() time.Duration {
	if t := time.Duration(s.timeout.Load()); t > 0 {
		return t / 2
	}
	return s.options.Session / 2
}

// dial connects to a server and reads the timeout that it gives. After a refusal it opens a session of its own on each server
// first, as a probe.
func (s *session) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	limit, quorum := handshakeLimit(s.options.Session), false
	if s.refusals.seen {
		if c, err := s.options.Dial(network, address, timeout); err == nil {
			quorum = opensSessions(c, limit/4) // which may come too late: the next probe counts then
		}
	}
	c, err := s.options.Dial(network, address, timeout)
	if err != nil {
		s.trouble.Store(&err)
		return nil, err
	}
	gave := func(t time.Duration) {
		s.timeout.Store(int64(t))
		s.trouble.Store(nil)
		s.refusals = refusals{}
	}
	failed := func(err error) (expired bool) {
		s.trouble.Store(&err)
		return closes(err) && s.refusals.add(quorum)
	}
	return &handshakeConn{Conn: c, limit: limit, gave: gave, failed: failed}, nil
}

// doubt returns the end of a request's context and, if no server accepts the session, the reason:
// the client waits for a server without an error.
func (s *session) doubt(err error) error {
	if why := s.trouble.Load(); why != nil {
		return fmt.Errorf("%w: %w: %w", err, errUnconnected, *why)
	}
	return err
}

var errUnconnected = errors.New("no server accepts the session")

type silent struct{}

func (silent) Printf(string, ...any) {}
