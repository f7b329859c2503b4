package opscommands

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/ops/web"
)

// A server that shuts down answers a change that was begun. It does not wait longer than a change may take.
func TestShutDown(t *testing.T) {
	for takes, answered := range map[time.Duration]bool{web.ChangeTimeout: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			client, end := net.Pipe()
			listener := &oneConn{conns: make(chan net.Conn, 1)}
			listener.conns <- end
			server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(takes) })}
			go func() { _ = server.Serve(listener) }()
			answers := make(chan error, 1)
			go func() {
				r, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://ops/jobs/report/pause", http.NoBody)
				_ = r.Write(client)
				answer, err := http.ReadResponse(bufio.NewReader(client), r)
				if err == nil {
					_ = answer.Body.Close()
				}
				answers <- err
			}()
			synctest.Wait()
			begun := time.Now()
			shutDown(server)
			if err := <-answers; (err == nil) != answered {
				t.Errorf("a change of %v: %v", takes, err)
			}
			if took := time.Since(begun); took > web.ChangeTimeout+time.Second {
				t.Errorf("a change of %v: the server ended after %v", takes, took)
			}
			_ = client.Close()
			time.Sleep(takes) // a bubble waits for its handlers
		})
	}
}

// A oneConn accepts the connections of a test.
type oneConn struct{ conns chan net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error { close(l.conns); return nil }

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
