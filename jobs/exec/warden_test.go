//go:build linux

package exec_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/exec"
)

// mean is a command that leaves its session, clears its environment and ignores SIGTERM.
func mean(m string) string {
	return "trap '' TERM; setsid sleep " + m + " & env -i setsid sh -c 'trap \"\" TERM; sleep " + m + "; sleep " + m + "' & (setsid sleep " + m + " &) ; sleep " + m
}

// startNode starts a node as a process, and waits until its command has all of its processes.
func startNode(t *testing.T, m string) *osexec.Cmd {
	t.Helper()
	n := osexec.Command(os.Args[0], "node", mean(m))
	out := &bytes.Buffer{}
	n.Stdout, n.Stderr = out, out
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = n.Process.Kill()
		_ = n.Wait()
		if t.Failed() {
			t.Log(out)
		}
	})
	eventually(t, "five processes", func() bool { return len(alive("sleep\x00"+m)) >= 4 })
	return n
}

// A node that is killed leaves no process of its runs.
func TestNodeKilled(t *testing.T) {
	m := marker(t)
	n := startNode(t, m)
	_ = n.Process.Kill()
	eventually(t, "empty", func() bool { return alive(m) == nil })
}

// A node that is stopped leaves no process of a run alive past its lease, which is not renewed.
func TestNodeFrozen(t *testing.T) {
	m := marker(t)
	n := startNode(t, m)
	if err := n.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "empty", func() bool { return len(alive("sleep\x00"+m)) == 0 })
}

// wardenOf returns the pid of the warden of a process.
func wardenOf(t *testing.T, pid int) (warden int) {
	t.Helper()
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(text)) {
			if line, _ := os.ReadFile("/proc/" + child + "/cmdline"); bytes.HasSuffix(line, []byte("\x00warden\x00")) {
				warden, _ = strconv.Atoi(child)
			}
		}
	}
	return warden
}

// A run whose warden is killed fails, and none of its processes is left. The next run has another
// warden.
func TestWardenKilled(t *testing.T) {
	r, m := runner(t), marker(t)
	done := make(chan error)
	go func() { done <- run(t, t.Context(), r, sh("setsid sleep "+m+" & sleep "+m)) }()
	eventually(t, "three processes", func() bool { return len(alive(m)) >= 3 })
	if err := syscall.Kill(wardenOf(t, os.Getpid()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "the process that runs commands died") || alive(m) != nil {
		t.Errorf("%v, left %v", err, alive(m))
	}
	if err := run(t, t.Context(), r, sh("true")); err != nil {
		t.Error(err)
	}
}

// A command dies with its warden also if the node, which is stopped, cannot end it.
func TestWardenOfAFrozenNodeKilled(t *testing.T) {
	m := marker(t)
	n := osexec.Command(os.Args[0], "node", "exec sleep "+m)
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = n.Process.Kill()
		_ = n.Wait()
	})
	eventually(t, "sleep", func() bool { return alive("sleep\x00"+m) != nil })
	warden := wardenOf(t, n.Process.Pid)
	if err := errors.Join(n.Process.Signal(syscall.SIGSTOP), syscall.Kill(warden, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "empty", func() bool { return alive("sleep\x00"+m) == nil })
}

// The warden has a session of its own, which no signal of the node's terminal reaches, and no variable of the node.
func TestWardenIsApart(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "not for the warden")
	if err := run(t, t.Context(), runner(t), sh("true")); err != nil {
		t.Fatal(err)
	}
	dir := "/proc/" + strconv.Itoa(wardenOf(t, os.Getpid()))
	env, err := os.ReadFile(dir + "/environ")
	if want := "PATH=/usr/local/bin:/usr/bin:/bin\x00CRONCE_WARDEN=1\x00"; err != nil || string(env) != want {
		t.Errorf("its variables are %q, %v, want %q", env, err, want)
	}
	stat, _ := os.ReadFile(dir + "/stat")
	if f := strings.Fields(string(stat)); len(f) < 6 || f[0] != f[5] {
		t.Errorf("it does not lead its session: %s", stat)
	}
}

// Signals to the group of the node, as when a service ends, reach the warden too. It leaves them to the node: the command, whose
// parent it is, goes on.
func TestSignalsForTheNode(t *testing.T) {
	for _, signal := range []string{"TERM", "INT", "HUP", "QUIT", "PIPE"} {
		if err := run(t, t.Context(), runner(t), sh("kill -"+signal+" $PPID; exit 3")); err == nil || err.Error() != "exit code 3" {
			t.Errorf("SIG%s: %v, want exit code 3", signal, err)
		}
	}
}

// A Runner starts the next warden a second after the start of one that died at once, so that a
// program that cannot be a warden does not keep the machine busy.
func TestWardenThatCannotStart(t *testing.T) {
	began := time.Now()
	log := &deaths{at: make(chan time.Time, 2)}
	r, err := exec.New(exec.Config{Warden: []string{"-test.list=nothing"}, Logger: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	<-log.at
	if after := (<-log.at).Sub(began); after < time.Second {
		t.Errorf("two wardens have died after %v", after)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A process that was started as a warden, and does not call Warden, makes no Runner: it would start a
// process like itself, without end.
func TestNoNodeInPlaceOfTheWarden(t *testing.T) {
	var lines bytes.Buffer
	log := &deaths{Handler: slog.NewTextHandler(&lines, nil), at: make(chan time.Time, 1)}
	r, err := exec.New(exec.Config{Warden: []string{"forgets the warden"}, Logger: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	<-log.at
	stop()
	if err := <-ended; err != nil || !strings.Contains(lines.String(), "exit status 7") {
		t.Errorf("%v, logged %s", err, &lines)
	}
}

// deaths is a log that passes on when wardens died.
type deaths struct {
	slog.Handler
	at chan time.Time
}

func (d *deaths) Enabled(context.Context, slog.Level) bool { return true }

func (d *deaths) Handle(ctx context.Context, r slog.Record) error {
	if d.Handler != nil {
		_ = d.Handler.Handle(ctx, r)
	}
	select {
	case d.at <- r.Time:
	default:
	}
	return nil
}

// A command has only its own descriptors, no signal blocked or ignored, and a session of its own.
func TestCleanProcess(t *testing.T) {
	m := marker(t)
	ctx, stop := context.WithCancel(t.Context())
	r, done := runner(t), make(chan error)
	go func() { done <- run(t, ctx, r, exec.Command{Args: []string{"sleep", m}}) }()
	eventually(t, "sleep", func() bool { return len(alive("sleep\x00"+m)) == 1 })
	dir := "/proc/" + alive("sleep\x00" + m)[0]
	eventually(t, "with the descriptors 0 1 2 alone", func() bool { // the loader has a library open at first; an inherited one stays
		entries, _ := os.ReadDir(dir + "/fd")
		return len(entries) == 3
	})
	if in, _ := os.Readlink(dir + "/fd/0"); in != "/dev/null" {
		t.Errorf("its input is %s", in)
	}
	status, _ := os.ReadFile(dir + "/status")
	for _, name := range []string{"SigBlk", "SigIgn"} {
		_, rest, _ := strings.Cut(string(status), name+":\t")
		set, err := strconv.ParseUint(rest[:min(len(rest), 16)], 16, 64)
		if err != nil || set&(1<<31-1) != 0 { // 32 and above are for libraries and for real time
			t.Errorf("%s is %#x, %v, want no signal below 32", name, set, err)
		}
	}
	stat, _ := os.ReadFile(dir + "/stat")
	if f := strings.Fields(string(stat)); f[0] != f[4] || f[0] != f[5] {
		t.Errorf("process %s is in group %s and session %s", f[0], f[4], f[5])
	}
	stop()
	<-done
}

// A command of another user has that user's groups, and can gain no privileges.
func TestUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := nobody.GroupIds()
	if err != nil {
		t.Fatal(err)
	}
	r, also := runner(t), " "+strings.Join(groups, " ")
	for _, c := range []struct{ user, group, want string }{
		{"nobody", "", nobody.Uid + ":" + nobody.Gid + ":" + also[1:]},
		{"nobody", "77777", nobody.Uid + ":77777:77777" + also},
		{nobody.Uid, "77777", nobody.Uid + ":77777:77777" + also},
		{"77777", "", "77777:77777:77777"}, // no account has this number
		{"", "77777", "0:77777:77777"},
	} {
		command := sh("echo $(id -u):$(id -g):$(id -G); grep NoNewPrivs /proc/$$/status; exit 1")
		command.User, command.Group = c.user, c.group
		err := run(t, t.Context(), r, command)
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.Output != c.want+"\nNoNewPrivs:\t1\n" {
			t.Errorf("user %q and group %q: %+v, want %s without new rights", c.user, c.group, e, c.want)
		}
	}
}

// A descriptor that the node inherited without the mark to close it does not reach commands.
func TestInheritedDescriptor(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	const high = 200
	if err := syscall.Dup3(int(w.Fd()), high, 0); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(high)
	if err := run(t, t.Context(), runner(t), sh("! [ -e /proc/self/fd/200 ]")); err != nil {
		t.Errorf("the command has the descriptor: %v", err)
	}
}

// A command that leaves zombies all the time delays no other run.
func TestManyZombies(t *testing.T) {
	r := runner(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- run(t, ctx, r, sh("while :; do (sleep 0.01 &) ; done")) }()
	for range 20 {
		if err := run(t, t.Context(), r, exec.Command{Args: []string{"true"}}); err != nil {
			t.Error(err)
		}
	}
	stop()
	<-done
}

// A zombie in the group, whose parent left session and environment, does not count as a remaining
// process.
func TestZombieOfAStray(t *testing.T) {
	m := marker(t)
	c := sh(`sh -c "sleep 0.05 & exec env -i setsid sleep ` + m + `" & sleep 0.2`)
	if err := run(t, t.Context(), runner(t), c); err != nil {
		t.Error(err)
	}
	eventually(t, "empty", func() bool { return alive(m) == nil })
}

// A stopped node with many runs leaves none of them: the warden does not wait for a reader.
func TestManyRunsOfAFrozenNode(t *testing.T) {
	m := marker(t)
	n := osexec.Command(os.Args[0], "many", "400", "sleep "+m)
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = n.Process.Kill()
		_ = n.Wait()
	})
	eventually(t, "400 processes", func() bool { return len(alive("sleep\x00"+m)) >= 400 })
	if err := n.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "empty", func() bool { return len(alive("sleep\x00"+m)) == 0 })
}

// Bytes that are not UTF-8 arrive unchanged.
func TestBytes(t *testing.T) {
	c := exec.Command{Args: []string{"sh", "-c", `[ "$1" = "$PW" ] && printf %s "$PW" | od -An -tx1; exit 9`, "sh", "caf\xe9<&>"}, Env: []string{"PW=caf\xe9<&>"}}
	err := run(t, t.Context(), runner(t), c)
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || strings.TrimSpace(e.Output) != "63 61 66 e9 3c 26 3e" {
		t.Errorf("%v", err)
	}
}
