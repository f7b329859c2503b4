package redisserver_test

import (
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/serverprocess"
)

// A launched server serves until it is ended, and leaves no listening process behind.
func TestLaunch(t *testing.T) {
	serverprocess.Find(t, "redis-server", "redis-server")
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	s, err := redisserver.Launch()
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		t.Error(err)
	} else {
		_ = c.Close()
	}
	s.End()
	if _, err := net.DialTimeout("tcp", s.Addr(), time.Second); err == nil {
		t.Error("the server serves after its end")
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if redisserver.Version() == "unknown" {
		out, err := exec.Command("redis-server", "--version").Output()
		t.Errorf("no version in %q, %v", out, err)
	}
}
