package serverprocess

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

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
				s := Start(t, t.TempDir(), program("plain"))
				if pid, _, err := ask(s.Port()); err == nil && pid != s.Pid() {
					t.Errorf("pid %d answers, want %d: the server is another test's", pid, s.Pid())
				}
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

// A server is restarted at the same address, after a crash and while it runs.
func TestRestart(t *testing.T) {
	s := Start(t, t.TempDir(), program("plain"))
	for _, end := range []func(){s.Kill, func() {}, s.Stop} {
		addr, pid := s.Addr(), s.Pid()
		end()
		s.Restart()
		wantGone(t, pid)
		if s.Addr() != addr {
			t.Errorf("Addr = %s after Restart, want %s", s.Addr(), addr)
		}
		until(t, s.Port(), true)
	}
}

// A frozen server does not answer, nor do the processes that it has started. After that it
// continues.
func TestFreezeThaw(t *testing.T) {
	s := Start(t, t.TempDir(), program("parent"))
	pid, _, err := ask(s.Port())
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if err != nil || pid == s.Pid() {
		t.Fatalf("pid %d of %d answers, %v, want a child", pid, s.Pid(), err)
	}
	if runtime.GOOS == "linux" && !s.proc.moves() {
		t.Error("nothing of a server runs")
	}
	s.Freeze()
	if s.proc.moves() {
		t.Error("something of a frozen server runs")
	}
	until(t, s.Port(), false)
	s.Thaw()
	until(t, s.Port(), true)
	s.Kill()
	until(t, s.Port(), false)
}

// A server that starts processes all the time stands still when it is frozen, and leaves none of
// them behind when it is killed.
func TestFreezeAndKillWhileItStartsOthers(t *testing.T) {
	s := Start(t, t.TempDir(), program("breeder"))
	s.Freeze()
	if s.proc.moves() {
		t.Error("something of a frozen server runs")
	}
	s.Thaw()
	until(t, s.Port(), true)
	s.Kill()
	for give := time.Now().Add(2 * time.Minute); ; <-time.After(pause) { // a killed process ends a moment later
		left := bredOn(t, s.Port())
		if len(left) == 0 {
			return
		}
		if time.Now().After(give) {
			t.Fatalf("%d processes outlive their server: %v", len(left), left)
		}
	}
}

// bredOn returns the folders of the processes that the server on a port has started.
func bredOn(t *testing.T, port int) (found []string) {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range folders {
		if line, _ := os.ReadFile(filepath.Join(path, "cmdline")); strings.HasPrefix(string(line), fmt.Sprint("bred on ", port)) {
			found = append(found, path)
		}
	}
	return found
}

func TestStopFrozenAndTwice(t *testing.T) {
	s := Start(t, t.TempDir(), program("plain"))
	s.Freeze()
	s.Stop()
	wantGone(t, s.Pid())
	s.Stop()
	s.Kill()
}

// A server that ignores the request to end fails the test, in time.
func TestStopIsBounded(t *testing.T) {
	s := Start(t, t.TempDir(), program("stubborn"))
	s.program.Patience = 50 * time.Millisecond
	verdict := record(t, func(tb testing.TB) {
		s.t = tb
		s.Stop()
	})
	if !strings.HasPrefix(verdict, "fail: ") || !strings.Contains(verdict, "still runs") {
		t.Errorf("verdict %q, want that it still runs", verdict)
	}
}

// Each server is ended by the signal of its program.
func TestEnd(t *testing.T) {
	p := program("stubborn")
	p.End = syscall.SIGINT
	s := Start(t, t.TempDir(), p)
	s.Stop()
	wantGone(t, s.Pid())
}

// Another server has the port: launch returns that error and does not mistake it for its own
// server.
func TestPortTaken(t *testing.T) {
	s := Start(t, t.TempDir(), program("plain"))
	other := &Server{program: program("plain"), port: s.Port()}
	if err := other.launch(); !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("launch on a taken port = %v, want %v, and why", err, errEnded)
	}
	until(t, s.Port(), true)
}

// Another process is faster to bind the first port: the server gets another port, for which its
// files are written.
func TestNextPort(t *testing.T) {
	var ports []int
	p := program("plain")
	p.Prepare = func(port int) error {
		ports = append(ports, port)
		if len(ports) > 1 {
			return nil
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	}
	s := Start(t, t.TempDir(), p)
	if len(ports) < 2 || s.Port() != ports[len(ports)-1] {
		t.Errorf("it is on %d, and was prepared for %d", s.Port(), ports)
	}
	s.Restart()
	if s.Port() != ports[len(ports)-1] {
		t.Errorf("it is on %d after Restart, and was prepared for %d", s.Port(), ports)
	}
}

func TestStartFails(t *testing.T) {
	silent, unprepared := program("plain"), program("plain")
	silent.Patience, silent.Answers = time.Millisecond, func(*Server) bool { return false }
	unprepared.Prepare = func(int) error { return errors.New("no room") }
	for _, c := range []struct {
		p    Program
		want string
	}{
		{program("broken"), "no such option"}, // the server's own words
		{silent, "no answer on port"},
		{unprepared, "no room"},
	} {
		verdict := record(t, func(tb testing.TB) { Start(tb, t.TempDir(), c.p) })
		if !strings.HasPrefix(verdict, "fail: ") || !strings.Contains(verdict, c.want) {
			t.Errorf("verdict %q, want %q", verdict, c.want)
		}
	}
}

func TestFreePortIsFree(t *testing.T) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: FreePort()})
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
