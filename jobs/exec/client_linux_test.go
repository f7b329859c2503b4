package exec

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	osexec "os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// connected returns a connection, and the descriptor of its other end.
func connected(t *testing.T) (conn *net.UnixConn, other int) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours := os.NewFile(uintptr(fds[0]), "ours")
	c, err := net.FileConn(ours)
	if err = errors.Join(err, ours.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), syscall.Close(fds[1]) })
	return c.(*net.UnixConn), fds[1]
}

// A node that cannot send a request about a command closes the connection, so that the warden kills the command: it would
// otherwise go on past its lease.
func TestRequestThatCannotBeSent(t *testing.T) {
	c, _ := connected(t)
	r := &remote{conn: c, id: 1}
	if r.kill(); errors.Is(c.SetDeadline(time.Time{}), net.ErrClosed) {
		t.Error("the connection is closed after a request that was sent")
	}
	r.send(&request{Op: opExtend, ID: 1, RunID: strings.Repeat("x", maxPacket)})
	if err := c.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection is open: %v", err)
	}
	started := &client{conn: c, left: map[uint64]*remote{}}
	none := func() (term, kill time.Time) { return term, kill }
	if _, err := started.start(t.Context(), &request{Op: opStart}, nil, none); err == nil || len(started.left) > 0 {
		t.Errorf("a start that was not sent: %v, and %d replies are expected", err, len(started.left))
	}
}

// A command that waited for a warden for longer than its lease, which was renewed meanwhile, is sent with the times of the renewed
// lease: with earlier ones the warden would not start it.
func TestWaitForAWarden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, other := connected(t)
		c := &client{changed: make(chan struct{}), left: map[uint64]*remote{}}
		w := newWatch(func() time.Time { return time.Now().Add(time.Hour) }, time.Second) // it is renewed all the time
		time.AfterFunc(3*time.Hour, func() { c.connect(conn) })
		if _, err := c.start(t.Context(), &request{Op: opStart}, nil, w.times); err != nil {
			t.Fatal(err)
		}
		packet := make([]byte, maxPacket)
		n, err := syscall.Read(other, packet)
		var sent request
		if err := errors.Join(err, json.Unmarshal(packet[:max(n, 0)], &sent)); err != nil {
			t.Fatal(err)
		}
		if now := bootTime(); sent.Term <= now || sent.Kill <= now {
			t.Errorf("SIGTERM comes %v after the start, and SIGKILL %v", time.Duration(sent.Term-now), time.Duration(sent.Kill-now))
		}
	})
}

// A warden that was stopped finds the times of a command over, and their renewal in the socket: the command goes on, and so does
// one that waits for its start.
func TestRenewalInTheSocket(t *testing.T) {
	conn, node := connected(t)
	in, err := newRequestQueue(conn)
	if err != nil {
		t.Fatal(err)
	}
	now := bootTime()
	later := now + int64(time.Hour)
	run := &wardenRun{request: request{ID: 1, Term: now, Kill: now}}
	w := &warden{requestQueue: in, runs: map[uint64]*wardenRun{1: run}, starts: []received{{request: request{ID: 2, Term: now, Kill: now}}}}
	w.reading.Store(true)
	if !w.behind() {
		t.Error("a request that has left the socket, and was not passed on yet, does not count as arrived")
	}
	w.reading.Store(false)
	for id := uint64(1); id <= 2; id++ {
		packet, err := json.Marshal(request{Op: opExtend, ID: id, Term: later, Kill: later})
		if err == nil {
			_, err = syscall.Write(node, packet)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	go w.read()
	if w.drain(); run.Term != later || w.starts[0].Term != later || w.gone {
		t.Errorf("SIGTERM comes at %d and %d, want %d", run.Term, w.starts[0].Term, later)
	}
	if err := syscall.Shutdown(node, syscall.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	if w.drain(); !w.gone {
		t.Error("the warden does not notice that the node is gone")
	}
}

// An emptySocket is called when the warden reads the socket, and finds no request.
type emptySocket func()

func (s emptySocket) Control(func(uintptr)) error    { s(); return nil }
func (s emptySocket) Read(func(uintptr) bool) error  { return nil }
func (s emptySocket) Write(func(uintptr) bool) error { return nil }

// A warden that was stopped just after it found the socket empty handles the renewals of that time before it acts, at its next
// event as well as after the search for the processes of another run.
func TestStoppedAfterTheSocketWasEmpty(t *testing.T) {
	for name, act := range map[string]func(*warden){
		"at an event":    (*warden).serve,
		"after a search": func(w *warden) { w.act(1) },
	} {
		gone := osexec.Command("true")
		if err := gone.Run(); err != nil {
			t.Fatal(err)
		}
		later := bootTime() + int64(time.Hour)
		run := &wardenRun{request: request{ID: 1, Term: later, Kill: later}, pid: gone.Process.Pid}
		w := &warden{requestQueue: requestQueue{requests: make(chan received, 1), reading: new(atomic.Bool)}, alarm: &alarm{-1, make(chan struct{}, 1)},
			runs: map[uint64]*wardenRun{1: run, 2: {request: request{ID: 2}, pid: gone.Process.Pid, reply: &reply{ID: 2}}}, owners: map[int]*wardenRun{}, replies: newReplies(nil)}
		w.alarm.rang <- struct{}{}
		times := 0
		w.raw = emptySocket(func() {
			times++
			switch {
			case times == 1:
				for run.Term = bootTime() + 1; bootTime() <= run.Term; { // it is stopped, and the time of SIGTERM passes
				}
				w.requests <- received{request: request{Op: opExtend, ID: 1, Term: later, Kill: later}}
			case times == 2:
				w.alarm.rang <- struct{}{}
			case times == 3:
				close(w.requests)
				w.reading.Store(true)
			}
		})
		if act(w); run.stop != 0 || run.over != 0 {
			t.Errorf("%s: the command was ended at %d, %d although its lease was renewed", name, run.stop, run.over)
		}
	}
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
