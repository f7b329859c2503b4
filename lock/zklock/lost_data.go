package zklock

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// An ensemble that has lost data never accepts a session that has seen more than its servers have: they close the
// connection, as servers without a quorum do. A server that opens a new session has committed a transaction after all that
// the ensemble has. If it then refuses the old session, data is lost, and the session with it. It counts as expired when
// that has happened twice, because a server may lose its quorum between the two connections. A session that is given up
// early is safe: its leases stay on the servers until its timeout.
//
// The methods of refusals are called by the client's goroutine that connects.
type refusals struct {
	seen   bool // a server has closed the connection since the last one accepted the session
	proven int  // number of refusals by a server with a quorum since then
}

const enoughRefusals = 2

// add counts a refusal, by a server with a quorum or not, and reports whether the session counts as expired.
func (r *refusals) add(quorum bool) (expired bool) {
	r.seen = true
	if quorum {
		r.proven++
	}
	if r.proven < enoughRefusals {
		return false
	}
	*r = refusals{}
	return true
}

// closes reports whether a server has closed the connection in place of an answer.
func closes(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) }

// expiredReply is the first message of a server to a session that has expired. See ConnectResponse in zookeeper.jute.
func expiredReply() []byte {
	reply := make([]byte, 40) // length, version, timeout, id of the session, length of the password, password
	binary.BigEndian.PutUint32(reply, 36)
	binary.BigEndian.PutUint32(reply[20:], 16)
	return reply
}

// probeTimeout is the timeout of a probe's session; a server raises it to the least that it allows.
const probeTimeout = time.Second

// endSession has its length, the number of the request and its type. See RequestHeader in zookeeper.jute.
var endSession = []byte{0, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5}

// opensSessions opens a session and ends it, which only a server with a quorum does. It closes the connection.
func opensSessions(c net.Conn, limit time.Duration) bool {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(limit))
	request := make([]byte, 48) // length, version, last transaction, timeout, id of the session, length of the password, password
	binary.BigEndian.PutUint32(request, 44)
	binary.BigEndian.PutUint32(request[16:], uint32(probeTimeout.Milliseconds()))
	binary.BigEndian.PutUint32(request[28:], 16)
	if _, err := c.Write(request); err != nil {
		return false
	}
	head := make([]byte, handshakeBytes)
	if _, err := io.ReadFull(c, head); err != nil || binary.BigEndian.Uint32(head[8:]) == 0 {
		return false
	}
	_, _ = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head))-handshakeBytes+4) // the rest of the reply
	if _, err := c.Write(endSession); err == nil {
		_, _ = io.Copy(io.Discard, c) // until the server has ended it
	}
	return true
}
