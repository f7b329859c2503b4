package exec

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A node that cannot send a request about a command closes the connection, so that the warden kills the command: it would
// otherwise go on past its lease.
func TestRequestThatCannotBeSent(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	defer theirs.Close()
	c, err := net.FileConn(ours)
	if err = errors.Join(err, ours.Close()); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := &remote{conn: c.(*net.UnixConn), id: 1}
	if r.kill(); errors.Is(c.SetDeadline(time.Time{}), net.ErrClosed) {
		t.Error("the connection is closed after a request that was sent")
	}
	r.send(&request{Op: opExtend, ID: 1, RunID: strings.Repeat("x", maxPacket)})
	if err := c.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection is open: %v", err)
	}
}

// A command that waited for a warden for longer than its lease, which was renewed meanwhile, is sent with the times of the renewed
// lease: with earlier ones the warden would not start it.
func TestWaitForAWarden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours := os.NewFile(uintptr(fds[0]), "ours")
		defer func() { _ = syscall.Close(fds[1]) }()
		conn, err := net.FileConn(ours)
		if err = errors.Join(err, ours.Close()); err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		c := &client{changed: make(chan struct{}), left: map[uint64]*remote{}}
		w := newWatch(func() time.Time { return time.Now().Add(time.Hour) }, time.Second) // it is renewed all the time
		time.AfterFunc(3*time.Hour, func() { c.connect(conn.(*net.UnixConn)) })
		if _, err := c.start(t.Context(), &request{Op: opStart}, nil, w.times); err != nil {
			t.Fatal(err)
		}
		packet := make([]byte, maxPacket)
		n, err := syscall.Read(fds[1], packet)
		var sent request
		if err := errors.Join(err, json.Unmarshal(packet[:max(n, 0)], &sent)); err != nil {
			t.Fatal(err)
		}
		if now := bootTime(); sent.Term <= now || sent.Kill <= now {
			t.Errorf("SIGTERM comes %v after the start, and SIGKILL %v", time.Duration(sent.Term-now), time.Duration(sent.Kill-now))
		}
	})
}

// A warden waits at its end for the replies that are being sent, too, but not for long.
func TestFlushWaitsForTheLastReply(t *testing.T) {
	for _, c := range []struct{ sent, want time.Duration }{{300 * time.Millisecond, 300 * time.Millisecond}, {time.Hour, lastReplies}} {
		synctest.Test(t, func(t *testing.T) {
			q := newReplies(nil)
			q.add(&reply{ID: 1})
			q.take() // it is being sent
			began := time.Now()
			sent := time.AfterFunc(c.sent, func() { q.take() }) // none is left to send
			defer sent.Stop()
			q.flush(lastReplies)
			if took := time.Since(began); took < c.want || took > c.want+time.Millisecond {
				t.Errorf("sent after %v: it waited %v, want %v", c.sent, took, c.want)
			}
		})
	}
}

// A command that waits for its start when the node goes away is not started, and its run gets that as the reason.
func TestWaitingAtTheEnd(t *testing.T) {
	w := &warden{gone: true, starts: []received{{request: request{ID: 5}}}, replies: newReplies(nil)}
	w.serve()
	if got := w.replies.take(); len(got) != 1 || *got[0] != (reply{ID: 5, Err: errEnded}) {
		t.Errorf("the replies are %v", got)
	}
}
