package web

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/ops/access"
)

// A pipeListener accepts connections in memory, which buffer no data: a reader that reads nothing blocks the
// writer at once.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, errors.New("the listener is closed")
}

func (l pipeListener) Close() error   { close(l); return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects, and requests the stream of a job's page.
func (pl *plane) dial(t *testing.T, l pipeListener) net.Conn {
	t.Helper()
	here, there := net.Pipe()
	l <- there
	t.Cleanup(func() { here.Close() })
	if _, err := fmt.Fprintf(here, "GET /events?page=/jobs/report HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", pl.tokens[access.Viewer]); err != nil {
		t.Fatal(err)
	}
	return here
}

// count counts the changes that reach a reader until the stream ends.
func count(c net.Conn, changes *atomic.Int64) {
	for lines := bufio.NewReader(c); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if strings.HasPrefix(line, "event: change") {
			changes.Add(1)
		}
	}
}

// Of many readers of a page, two accept no data any more. The other readers get each snapshot at once. The two are
// disconnected after frameTimeout, and leave nothing behind.
func TestStalledReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "")
		l, server := make(pipeListener), &http.Server{Handler: pl}
		var open atomic.Int64
		server.ConnState = func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed:
				open.Add(-1)
			}
		}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { server.Close() })
		pl.dial(t, l) // and reads nothing at all
		stops := pl.dial(t, l)
		if _, err := stops.Read(make([]byte, 1)); err != nil { // and reads no more
			t.Fatal(err)
		}
		const readers = 50
		var changes [readers]atomic.Int64
		for i := range changes {
			go count(pl.dial(t, l), &changes[i])
		}
		for second := range 3 * frameTimeout / time.Second {
			synctest.Wait()
			for i := range changes {
				if got := changes[i].Load(); got != int64(second)+1 {
					t.Fatalf("after %d snapshots a reader has %d", second+1, got)
				}
			}
			want := readers
			if second < frameTimeout/time.Second {
				want += 2
			}
			pl.mu.Lock()
			streams := len(pl.streams)
			pl.mu.Unlock()
			if streams != want || pl.p.Watchers() != want || open.Load() != int64(want) {
				t.Fatalf("after %d s there are %d streams, %d watchers and %d connections, want %d", second, streams, pl.p.Watchers(), open.Load(), want)
			}
			time.Sleep(time.Second)
			pl.p.Refresh(t.Context())
		}
	})
}
