package redisserver

import (
	"errors"
	"net"
	"os/exec"
	"testing"
)

// Another server has the port: start says so and does not take it for its own.
func TestPortTaken(t *testing.T) {
	s := Start(t)
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	p, err := start(path, t.TempDir(), s.Port(), nil)
	if !errors.Is(err, errTaken) {
		t.Fatalf("start on a taken port = %v, want %v", err, errTaken)
	}
	if p.pid() == s.Pid() {
		t.Error("the running server was taken for the new one")
	}
}

func TestFreePortIsFree(t *testing.T) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: freePort()})
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
