package exec

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
)

const threadEnds = "ends its main thread"

// A process whose main thread has ended goes on with its other threads. The test binary is one; it ends with its input.
func init() {
	if len(os.Args) > 1 && os.Args[1] == threadEnds {
		runtime.LockOSThread()
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
		_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

// started starts a process in a session of its own, which is killed at the end of the test.
func started(t *testing.T, env []string, args ...string) (*exec.Cmd, io.Closer) {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	c.Env, c.SysProcAttr = env, &syscall.SysProcAttr{Setsid: true}
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	rig.Eventually(t, "its environment", func() bool { // an exec closes files, and Start returns, before it sets that
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.Process.Pid))
		return err == nil && len(text) > 0
	})
	return c, in
}

// state returns the text of a process in /proc behind its name.
func state(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return string(text[strings.LastIndexByte(string(text), ')')+1:])
}

// A process whose main thread has ended is no zombie: it is alive, and its run is known by its environment.
func TestMainThreadEnds(t *testing.T) {
	c, _ := started(t, []string{"A=1", RunIDEnv + "=of a thread"}, os.Args[0], threadEnds)
	rig.Eventually(t, "a process without its main thread", func() bool { return strings.HasPrefix(state(c.Process.Pid), " Z ") })
	p, ok := readProcess(c.Process.Pid)
	if !ok || p.dying || p.parent != os.Getpid() || p.group != c.Process.Pid || p.session != c.Process.Pid {
		t.Errorf("the process is %+v, %v, want a live one", p, ok)
	}
	if !p.carries("of a thread") || p.carries("of a") || !p.named() {
		t.Error("its run is not known")
	}
}

// The name of a process may hold anything, such as the text that stands behind the name of a zombie.
func TestNameWithBrackets(t *testing.T) {
	c, in := started(t, []string{"PATH=" + defaultPath}, "/bin/sh", "-c", "printf ') Z 1 1' >/proc/$$/comm; read line")
	rig.Eventually(t, "a process with that name", func() bool {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", c.Process.Pid))
		return string(name) == ") Z 1 1\n"
	})
	if p, ok := readProcess(c.Process.Pid); !ok || p.parent != os.Getpid() || p.group != c.Process.Pid || p.session != c.Process.Pid {
		t.Errorf("the process is %+v, %v", p, ok)
	}
	_ = in.Close()
}

// The system has the start of a process in ticks. No process counts as begun before the run that started it.
func TestBeganAfterItsRun(t *testing.T) {
	for range 5 {
		before := bootTime()
		c, _ := started(t, nil, "sleep", "1000")
		p, ok := readProcess(c.Process.Pid)
		if after := bootTime(); !ok || p.began < before || p.began > after+int64(clockTick) {
			t.Errorf("the process began at %d, %v, want %d to %d", p.began, ok, before, after)
		}
	}
}

// A process that has left the session of its run and cleared its environment lives as long as a run that was alive when it began.
// One that has the id of a run that is over ends at once.
func TestKillStrays(t *testing.T) {
	for name, c := range map[string]struct {
		env     string
		earlier bool // the live run began before the process
		want    syscall.Signal
	}{
		"of a live run, perhaps": {"A=1", true, syscall.SIGTERM},
		"of an earlier run":      {"A=1", false, syscall.SIGKILL},
		"of the live run":        {RunIDEnv + "=live", false, syscall.SIGTERM},
		"of another run":         {RunIDEnv + "=over", true, syscall.SIGKILL},
	} {
		began := bootTime()
		child, _ := started(t, []string{c.env}, "sleep", "1000")
		if !c.earlier {
			began = bootTime() + int64(time.Hour)
		}
		const none = 1 << 30 // the pid of no process
		w := &warden{runs: map[uint64]*wardenRun{1: {request: request{ID: 1, RunID: "live"}, pid: none, began: began}}, owners: map[int]*wardenRun{}}
		w.killStrays()
		_ = child.Process.Signal(syscall.SIGTERM) // without effect on a process that was killed
		if _ = child.Wait(); child.ProcessState.Sys().(syscall.WaitStatus).Signal() != c.want {
			t.Errorf("%s: %v, want %v", name, child.ProcessState, c.want)
		}
	}
}
