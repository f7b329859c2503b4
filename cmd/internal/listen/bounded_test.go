package listen

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Idle connections fill a listener, some after a request and some before one. Each request on a new
// connection is still answered, and a connection in use stays.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	const most = 8
	l, err := Listen("127.0.0.1:0", most)
	if err != nil {
		t.Fatal(err)
	}
	streaming, release := make(chan struct{}), make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			close(streaming)
			for range 3 * most { // bytes go through it, as through a stream with heartbeats
				<-release
				_, _ = io.WriteString(w, "beat\n")
				_ = http.NewResponseController(w).Flush()
				release <- struct{}{}
			}
		}
		_, _ = io.WriteString(w, "ok")
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(2 * time.Minute)) // no request waits for the timeouts of a server
		return c
	}
	ask := func(c net.Conn, path string) {
		_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	}
	stream := dial()
	ask(stream, "/stream")
	<-streaming
	for i := range 3 * most {
		idle := dial()
		if i%2 == 0 {
			ask(idle, "/")
			if n, err := idle.Read(make([]byte, 4)); n == 0 {
				t.Fatalf("connection %d has no answer: %v", i, err)
			}
		}
		release <- struct{}{}
		<-release
		c := dial()
		ask(c, "/")
		if n, err := c.Read(make([]byte, 4)); n == 0 {
			t.Fatalf("a request beside %d idle connections has no answer: %v", i, err)
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(stream), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(response.Body); err != nil || strings.Count(string(body), "beat") != 3*most {
		t.Errorf("the stream ended: %q, %v", body, err)
	}
	b := l.(*bounded)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.open) > most {
		t.Errorf("%d connections are open, want at most %d", len(b.open), most)
	}
}
