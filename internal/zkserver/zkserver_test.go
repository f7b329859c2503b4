package zkserver_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/zkserver"
)

func connect(t *testing.T, s *zkserver.Server) *zk.Conn {
	t.Helper()
	c, _, err := zk.Connect([]string{s.Addr()}, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func wantGone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("kill -0 %d = %v, want no such process", pid, err)
	}
}

// Servers started at once are apart, and none is left behind.
func TestStartManyAtOnce(t *testing.T) {
	var pids [3]int
	t.Run("all", func(t *testing.T) {
		for i := range pids {
			t.Run("one", func(t *testing.T) {
				t.Parallel()
				s := zkserver.Start(t)
				if _, err := connect(t, s).Create("/seen", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
					t.Errorf("create: %v", err)
				}
				pids[i] = s.Pid()
			})
		}
	})
	for _, pid := range pids {
		wantGone(t, pid)
	}
}

// What was acknowledged is there again after a crash, on the same port.
func TestKillKeepsWhatWasAcknowledged(t *testing.T) {
	s := zkserver.Start(t)
	addr, pid := s.Addr(), s.Pid()
	c := connect(t, s)
	if _, err := c.Create("/k", []byte("v"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	wantGone(t, pid)
	s.Restart()
	if s.Addr() != addr {
		t.Errorf("Addr = %s after Restart, want %s", s.Addr(), addr)
	}
	if data, _, err := connect(t, s).Get("/k"); err != nil || string(data) != "v" {
		t.Errorf("after a crash /k is %q, %v", data, err)
	}
}

// A frozen server answers nothing, and can be stopped.
func TestFreezeThawStop(t *testing.T) {
	s := zkserver.Start(t)
	c := connect(t, s)
	s.Freeze()
	done := make(chan error, 1)
	go func() {
		_, _, err := c.Exists("/")
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("a frozen server answered: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	s.Thaw()
	if err := <-done; err != nil {
		t.Errorf("after Thaw: %v", err)
	}
	if !strings.HasPrefix(s.Ask("ruok"), "imok") {
		t.Error("the server is not well")
	}
	s.Freeze()
	s.Stop()
	s.Stop()
	wantGone(t, s.Pid())
}

func TestSettings(t *testing.T) {
	s := zkserver.Start(t, "tickTime=123")
	if conf := s.Ask("conf"); !strings.Contains(conf, "tickTime=123\n") {
		t.Errorf("the settings are %s", conf)
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
		{"", "skip: java is not installed"},
		{"1", "fail: java is not installed and CRONCE_REQUIRE_SERVERS=1"},
	} {
		t.Run("require="+c.require, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir())
			t.Setenv(zkserver.Require, c.require)
			r := &recorder{TB: t}
			func() {
				defer func() { _ = recover() }()
				zkserver.Start(r)
			}()
			if !strings.HasPrefix(r.verdict, c.want) {
				t.Errorf("verdict %q, want %q", r.verdict, c.want)
			}
		})
	}
}
