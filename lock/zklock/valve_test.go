package zklock_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A valve is between a server and its leader. It can hold back the messages of either side without
// losing any.
type valve struct {
	net.Listener
	up, down atomic.Bool // hold back the messages of the follower, and of the leader

	over atomic.Bool
	wg   sync.WaitGroup
}

func newValve(t *testing.T, to string) *valve {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	v := &valve{Listener: l}
	v.wg.Go(func() { relay(l, to, v.join) })
	t.Cleanup(func() {
		v.over.Store(true)
		_ = l.Close()
		v.wg.Wait() // the servers, which were started later, are gone
	})
	return v
}

func (v *valve) join(in, out net.Conn) {
	v.wg.Go(func() { v.pass(in, out, &v.up) })
	v.wg.Go(func() { v.pass(out, in, &v.down) })
}

func (v *valve) pass(from, to net.Conn, held *atomic.Bool) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		for held.Load() && !v.over.Load() {
			<-time.After(time.Millisecond)
		}
		if err != nil {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
