package redisserver_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
)

// do sends one inline command and returns the first line of the reply, or for a
// bulk reply its first line of content.
func do(t *testing.T, addr, command string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "%s\r\n", command)
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err == nil && line[0] == '$' && line != "$-1\r\n" {
		line, err = in.ReadString('\n')
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func wantGone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("kill -0 %d = %v, want no such process", pid, err)
	}
}

// Ten tests start a server at once: each gets its own, and none is left behind.
func TestStartManyAtOnce(t *testing.T) {
	var mu sync.Mutex
	pids := map[int]bool{}
	t.Run("all", func(t *testing.T) {
		for range 10 {
			t.Run("one", func(t *testing.T) {
				t.Parallel()
				s := redisserver.Start(t)
				if got := do(t, s.Addr(), "GET seen"); got != "$-1" {
					t.Errorf("GET seen = %q, want nothing: the server is another test's", got)
				}
				do(t, s.Addr(), "SET seen 1")
				mu.Lock()
				defer mu.Unlock()
				pids[s.Pid()] = true
			})
		}
	})
	if len(pids) != 10 {
		t.Errorf("%d processes, want 10", len(pids))
	}
	for pid := range pids {
		wantGone(t, pid)
	}
}

func TestRestartKeepsAddrAndForgets(t *testing.T) {
	s := redisserver.Start(t)
	addr, pid := s.Addr(), s.Pid()
	do(t, addr, "SET k v")
	s.Restart()
	if s.Addr() != addr {
		t.Errorf("Addr = %s after Restart, want %s", s.Addr(), addr)
	}
	if got := do(t, addr, "GET k"); got != "$-1" {
		t.Errorf("GET k = %q after Restart without persistence, want nothing", got)
	}
	wantGone(t, pid)
}

func TestKillKeepsWhatWasPersisted(t *testing.T) {
	s := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	do(t, s.Addr(), "SET k v")
	s.Kill()
	wantGone(t, s.Pid())
	s.Restart()
	if got := do(t, s.Addr(), "GET k"); got != "v" {
		t.Errorf("GET k = %q after a crash with an append-only file, want v", got)
	}
}

func TestStopTwice(t *testing.T) {
	s := redisserver.Start(t)
	s.Stop()
	s.Stop()
	wantGone(t, s.Pid())
}

func TestPassword(t *testing.T) {
	s := redisserver.Start(t, "--requirepass", "secret")
	if got := do(t, s.Addr(), "PING"); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("PING = %q, want NOAUTH", got)
	}
}

// A recorder is a test that is asked to skip or to fail.
type recorder struct {
	testing.TB
	verdict string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any)  { r.end("skip", format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.end("fail", format, args...) }

func (r *recorder) end(verdict, format string, args ...any) {
	r.verdict = verdict + ": " + fmt.Sprintf(format, args...)
	panic(r)
}

func TestMissingProgram(t *testing.T) {
	for _, c := range []struct{ require, want string }{
		{"", "skip: redis-server is not installed"},
		{"1", "fail: redis-server is not installed and CRONCE_REQUIRE_SERVERS=1"},
	} {
		t.Run("require="+c.require, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir())
			t.Setenv(redisserver.Require, c.require)
			r := &recorder{TB: t}
			func() {
				defer func() { _ = recover() }()
				redisserver.Start(r)
			}()
			if !strings.HasPrefix(r.verdict, c.want) {
				t.Errorf("verdict %q, want %q", r.verdict, c.want)
			}
		})
	}
}

func TestBadArgumentsFail(t *testing.T) {
	r := &recorder{TB: t}
	func() {
		defer func() { _ = recover() }()
		redisserver.Start(r, "--no-such-option", "1")
	}()
	if !strings.Contains(r.verdict, "no-such-option") {
		t.Errorf("verdict %q, want the server's own words", r.verdict)
	}
}
