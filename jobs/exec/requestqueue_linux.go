package exec

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A requestQueue passes the node's requests on to the goroutine of the warden. A warden that was stopped for long finds renewals in
// the socket, and the times that they move over: it must know of the renewals before it acts.
type requestQueue struct {
	raw      syscall.RawConn
	requests chan received // closed when the node is gone
	reading  *atomic.Bool  // a request may be neither in the socket nor among the requests
}

func newRequestQueue(conn *net.UnixConn) (requestQueue, error) {
	raw, err := conn.SyscallConn()
	return requestQueue{raw, make(chan received, 1024), new(atomic.Bool)}, err
}

// behind reports whether requests have arrived that were not passed on yet, or the node is gone.
func (q *requestQueue) behind() (yes bool) {
	if q.raw == nil {
		return false
	}
	_ = q.raw.Control(func(fd uintptr) {
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		yes = n > 0
	})
	return yes || q.reading.Load() // in this order: a request that has left the socket is being read
}

// A received request has the files that came with it.
type received struct {
	request
	files []*os.File
}

func (r received) close() {
	for _, f := range r.files {
		_ = f.Close()
	}
}

// read passes the node's requests on, until the node is gone.
func (q *requestQueue) read() {
	defer close(q.requests)
	packet, oob := make([]byte, maxPacket), make([]byte, syscall.CmsgSpace(4*2))
	for {
		n, oobn, err := q.receive(packet, oob)
		if err != nil || n == 0 {
			return
		}
		r := received{files: descriptors(oob[:oobn])}
		if json.Unmarshal(packet[:n], &r.request) != nil {
			return // a node of another version, which notices the end of the connection
		}
		q.requests <- r
		q.reading.Store(false)
	}
}

// receive reads a packet from the socket.
func (q *requestQueue) receive(packet, oob []byte) (n, oobn int, err error) {
	closed := q.raw.Read(func(fd uintptr) bool {
		q.reading.Store(true)
		for err = unix.EINTR; err == unix.EINTR; { // as package net does: the end of the connection kills all commands
			n, oobn, _, _, err = unix.Recvmsg(int(fd), packet, oob, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
		}
		if err == unix.EAGAIN {
			q.reading.Store(false)
			return false
		}
		return true
	})
	return n, oobn, errors.Join(closed, err)
}

// descriptors returns the files that came with a packet.
func descriptors(oob []byte) (files []*os.File) {
	messages, _ := syscall.ParseSocketControlMessage(oob)
	for i := range messages {
		fds, _ := syscall.ParseUnixRights(&messages[i])
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files
}
