package redislock_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// A cutter passes connections on to a server. When it is told to, it waits for
// the server's next reply and cuts the connection instead of passing it on.
type cutter struct {
	net.Listener
	server string
	cut    atomic.Bool
	wg     sync.WaitGroup
}

func newCutter(t *testing.T, server string) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &cutter{Listener: l, server: server}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		_ = l.Close()
		p.wg.Wait()
	})
	return p
}

func (p *cutter) serve() {
	for {
		in, err := p.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.wg.Go(func() {
			defer out.Close()
			_, _ = io.Copy(out, in) // ends when either side is closed
		})
		p.wg.Go(func() {
			defer in.Close()
			p.replies(in, out)
		})
	}
}

func (p *cutter) replies(in, out net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		if err != nil || p.cut.CompareAndSwap(true, false) {
			return
		}
		if _, err := in.Write(buf[:n]); err != nil {
			return
		}
	}
}

// A request was carried out and its reply was lost: the asker is in doubt, asks
// again, and gets what it was given, with the same fence.
func TestLostReply(t *testing.T) {
	s := redisserver.Start(t)
	p := newCutter(t, s.Addr())
	c := client(t, p.Addr().String())
	d := driver(t, c, redislock.Options{})
	due := open(t, d, c, "job", "warm")
	direct := driver(t, client(t, s.Addr()), redislock.Options{})
	warm(t, direct, due) // a NOSCRIPT is not the reply to lose

	cl := claimOf("job", "a/1", due)
	lose(t, p, func() error { return d.Claim(t.Context(), []lock.Claim{cl})[0].Err })
	seen := claim(t, direct, claimOf("job", "b/1", due), lock.Passed)
	a := claim(t, d, cl, lock.Granted)
	if a.Fence != seen.Fence || a.Attempt != 1 {
		t.Errorf("asked again: %+v, the store had the fence %d", a, seen.Fence)
	}
	e := lock.Ending{RunRef: runOf(cl, a), OK: true, Outcome: "ok"}
	lose(t, p, func() error { return d.ReleaseRuns(t.Context(), []lock.Ending{e})[0].Err })
	if again := d.ReleaseRuns(t.Context(), []lock.Ending{e})[0]; !again.Ended || again.Err != nil {
		t.Errorf("the release asked again: %+v", again)
	}

	req := lock.Acquisition{Key: "key", Owner: "a/2", TTL: time.Minute}
	lose(t, p, func() error { _, err := d.Acquire(t.Context(), req); return err })
	g, err := d.Acquire(t.Context(), req)
	must(t, err)
	h := lock.Holding{Key: "key", Owner: "a/2", Fence: g.Fence, TTL: time.Minute}
	if again, err := d.Acquire(t.Context(), req); err != nil || again.Fence != g.Fence {
		t.Errorf("asked a third time: %+v, %v, want the fence %d", again, err, g.Fence)
	}
	lose(t, p, func() error { return d.Release(t.Context(), h) })
	must(t, d.Release(t.Context(), h))
}

// warm makes the scripts known to the server.
func warm(t *testing.T, d *redislock.Driver, due int64) {
	t.Helper()
	cl := claimOf("warm", "w/1", due)
	a := claim(t, d, cl, lock.Granted)
	d.ReleaseRuns(t.Context(), []lock.Ending{{RunRef: runOf(cl, a), OK: true, Outcome: "ok"}})
	must(t, d.Release(t.Context(), acquire(t, d, "warm", "w/2")))
}

// lose does what asks for one reply and loses it.
func lose(t *testing.T, p *cutter, do func() error) {
	t.Helper()
	p.cut.Store(true)
	if err := do(); err == nil {
		t.Error("a reply that was lost was no doubt")
	}
	if p.cut.Load() {
		t.Error("no reply was lost")
	}
}
