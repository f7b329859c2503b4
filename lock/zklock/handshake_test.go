package zklock_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/zklock"
)

// A server answers that the session has expired, for which it gives the timeout 0: leases are trusted
// for half of the timeout that was given last.
func TestExpiredSessionGivesNoTimeout(t *testing.T) {
	t.Parallel()
	var trusts []time.Duration
	third := make(chan struct{})
	var d *zklock.Driver
	dial := func(string, string, time.Duration) (net.Conn, error) { // calls do not overlap
		if trusts = append(trusts, d.Trust()); len(trusts) > 2 {
			if len(trusts) == 3 {
				close(third)
			}
			return nil, net.ErrClosed
		}
		ours, theirs := net.Pipe()
		answer := make([]byte, 40) // length, version, timeout, id, length of the password, password
		answer[3] = 36
		answer[23] = 16
		if len(trusts) == 1 {
			binary.BigEndian.PutUint32(answer[8:], 40_000)
			answer[19] = 1
		}
		go func() {
			defer theirs.Close()
			hello := make([]byte, 4)
			if _, err := io.ReadFull(theirs, hello); err == nil {
				_, _ = io.CopyN(io.Discard, theirs, int64(binary.BigEndian.Uint32(hello)))
				_, _ = theirs.Write(answer)
			}
		}()
		return ours, nil
	}
	d = newDriver(t, "127.0.0.1:1", zklock.Options{Session: 100 * time.Second, Dial: dial})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-third
		stop()
	}()
	if _, err := d.Now(ctx); err == nil {
		t.Error("there was an answer")
	}
	<-third
	if trusts[0] != 50*time.Second || trusts[1] != 20*time.Second || trusts[2] != 20*time.Second {
		t.Errorf("at the three connections leases were trusted for %v, want 50s, 20s, 20s", trusts)
	}
}

// A deadlines is a connection that records how far away the deadlines of its reads are.
type deadlines struct {
	net.Conn
	longest *atomic.Int64 // ns
}

func (c deadlines) SetReadDeadline(at time.Time) error {
	c.longest.Store(max(c.longest.Load(), int64(time.Until(at))))
	return c.Conn.SetReadDeadline(at)
}

// The time limit of the handshake is no limit for later reads: an idle connection would break again and
// again.
func TestHandshakeLimitEndsWithIt(t *testing.T) {
	t.Parallel()
	var longest atomic.Int64
	d := newDriver(t, zkserver.Shared(t), zklock.Options{Session: 100 * time.Second, Dial: func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, address, timeout)
		return deadlines{c, &longest}, err
	}})
	now(t, d)
	if at := time.Duration(longest.Load()); at < 11*time.Second {
		t.Errorf("a read of a session of 100s ends after %v at the latest", at)
	}
}
