package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/health"
)

// healthOf serves the health of a node and returns its address.
func healthOf(t *testing.T, ready func() error) string {
	t.Helper()
	server := httptest.NewServer(health.Handler(ready, func() []string { return nil }, http.NotFoundHandler()))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestHealth(t *testing.T) {
	fine := healthOf(t, func() error { return nil })
	ill := healthOf(t, func() error { return errors.New("the store does not answer") })
	cronce(t, "node", "health", "--http", fine).want(t, exit.Fine, "ok")
	cronce(t, "node", "health", "--http", ill).want(t, exit.Failed, "not ready: the store does not answer")
	cronce(t, "node", "health", "--http", "127.0.0.1:1").want(t, exit.Failed, "127.0.0.1:1")
	cronce(t, "node", "health", "--http", "off").want(t, exit.WrongUsage, "nothing is served")
	cronce(t, "node", "health", "--http", "8080").want(t, exit.WrongUsage, "must be host:port")
}

// Like a node, the command takes the address from the file or the environment. An address that
// other machines can reach is read through loopback.
func TestHealthFindsNode(t *testing.T) {
	fine := healthOf(t, func() error { return nil })
	_, port, _ := strings.Cut(fine, ":")
	yaml := "http: {address: ':" + port + "', allow_remote: true}\n"
	cronce(t, "node", "health", "--config", file(t, "c.yaml", yaml)).want(t, exit.Fine, "ok")
	t.Setenv("CRONCE_HTTP", fine)
	cronce(t, "node", "health").want(t, exit.Fine, "ok")
}

func TestLocalAddress(t *testing.T) {
	for address, want := range map[string]string{
		":8080": "127.0.0.1:8080", "0.0.0.0:1": "127.0.0.1:1", "[::]:1": "[::1]:1",
		"127.0.0.1:1": "127.0.0.1:1", "localhost:1": "localhost:1", "10.0.0.1:1": "10.0.0.1:1",
	} {
		if got := localAddress(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
