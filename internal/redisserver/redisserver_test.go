package redisserver_test

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/serverprocess"
)

// do sends one inline command and returns the first line of the reply or, for a bulk reply or a
// list, its first line of content.
func do(t *testing.T, addr, command string) string {
	t.Helper()
	line, err := info(addr, command)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func info(addr, command string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	fmt.Fprintf(conn, "%s\r\n", command)
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	for err == nil && strings.Contains("*$", line[:1]) && line != "$-1\r\n" {
		line, err = in.ReadString('\n')
	}
	return strings.TrimSpace(line), err
}

func TestRestartForgets(t *testing.T) {
	s := redisserver.Start(t)
	do(t, s.Addr(), "SET k v")
	s.Restart()
	if got := do(t, s.Addr(), "GET k"); got != "$-1" {
		t.Errorf("GET k = %q after Restart without persistence, want nothing", got)
	}
}

func TestKillKeepsWhatWasPersisted(t *testing.T) {
	s := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	do(t, s.Addr(), "SET k v")
	s.Kill()
	s.Restart()
	if got := do(t, s.Addr(), "GET k"); got != "v" {
		t.Errorf("GET k = %q after a crash with an append-only file, want v", got)
	}
}

func TestPassword(t *testing.T) {
	s := redisserver.Start(t, "--requirepass", "secret")
	if got := do(t, s.Addr(), "PING"); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("PING = %q, want NOAUTH", got)
	}
}

func TestVersion(t *testing.T) {
	serverprocess.Find(t, "redis-server", "redis-server")
	if redisserver.Version() == "unknown" {
		out, err := exec.Command("redis-server", "--version").Output()
		t.Errorf("no version in %q, %v", out, err)
	}
}
