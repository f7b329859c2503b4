package exec_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/exec"
	"github.com/cronce/cronce/lock"
)

func TestExitCodes(t *testing.T) {
	r := runner(t)
	for _, c := range []struct {
		script, want string
		code         int
	}{
		{"true", "", 0},
		{"exit 3", "exit code 3", 3},
		{"exit 255", "exit code 255", 255},
		{"echo reading; echo 'no such table' >&2; exit 1", "exit code 1: no such table", 1},
		{"echo 'no such table' >&2; printf '\\n \\t\\n'; exit 1", "exit code 1: no such table", 1},
		{"kill -SEGV $$", "killed by SIGSEGV", 0},
		{"exec /nothing/there", "exit code 127", 127},
	} {
		err := run(t, t.Context(), r, sh(c.script))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if c.want == "" && err != nil || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %v, want %q", c.script, err, c.want)
		}
		if e, ok := errors.AsType[*exec.ExitError](err); ok && e.Code != c.code {
			t.Errorf("%s: code %d, want %d", c.script, e.Code, c.code)
		}
	}
}

// A command gets the variables of its run, its own variables, and few of the node's.
func TestEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "not for children")
	t.Setenv("CRONCE_REDIS_PASSWORD", "not for children")
	t.Setenv("PATH", "/usr/bin:/bin")
	t.Setenv("LC_TIME", "C")
	for _, name := range []string{"HOME", "USER", "LANG", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "LC_ALL"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	c := exec.Command{Args: []string{"env"}, Env: []string{"LEVEL=1", "LEVEL=2"}, PermanentCodes: []int{9}}
	c.Args = []string{"sh", "-c", "tr '\\0' '\\n' </proc/self/environ; exit 9"}
	err := run(t, t.Context(), runner(t), c)
	e, _ := errors.AsType[*exec.ExitError](err)
	if e == nil {
		t.Fatal(err)
	}
	want := "PATH=/usr/bin:/bin\nLC_TIME=C\nLEVEL=2\nCRONCE_JOB=job\nCRONCE_TICK=2026-01-05T00:00:00.000Z\n" +
		"CRONCE_RUN_ID=test/TestEnvironment@2026-01-05T00:00:00.000Z\nCRONCE_FENCE=42\nCRONCE_ATTEMPT=1\n"
	if e.Output != want {
		t.Errorf("the environment is\n%s\nwant\n%s", e.Output, want)
	}
}

func TestStdinDirUmask(t *testing.T) {
	dir, mask := t.TempDir(), 0o077
	c := sh("cat >copy; umask")
	c.Dir, c.Umask, c.Stdin = dir, &mask, strings.Repeat("line\n", 10000)
	r := runner(t)
	before := run(t, t.Context(), r, sh("umask; exit 1"))
	if err := run(t, t.Context(), r, c); err != nil {
		t.Fatal(err)
	}
	if after := run(t, t.Context(), r, sh("umask; exit 1")); after.Error() != before.Error() {
		t.Errorf("the next command has another mask: %v, want %v", after, before)
	}
	text, err := os.ReadFile(filepath.Join(dir, "copy"))
	info, _ := os.Stat(filepath.Join(dir, "copy"))
	if err != nil || string(text) != c.Stdin || info.Mode().Perm() != 0o600 {
		t.Errorf("%d bytes with mode %v, %v", len(text), info.Mode(), err)
	}
}

// When the function returns, no process that came from the command is alive: neither in the
// background, nor in a session of its own, without its environment, or ignoring SIGTERM.
func TestNothingIsLeft(t *testing.T) {
	r := runner(t)
	for name, leave := range map[string]string{
		"background": "sleep M &",
		"session":    "setsid sleep M &",
		"deaf":       "(trap '' TERM; setsid sleep M & sleep M) &",
		"daemon":     "(setsid sh -c '(sleep M &)' &)",
		"many":       "for i in $(seq 30); do setsid sleep M & done",
		"nameless":   "env -i setsid sleep M & sleep 0.05",
		"deep":       "setsid sh -c 'setsid sh -c \"setsid sleep M & sleep M\" & sleep M' & sleep 0.05",
	} {
		for _, end := range []string{"true", "exit 1", "kill -9 $$"} {
			m := marker(t)
			_ = run(t, t.Context(), r, sh(strings.ReplaceAll(leave, "M", m)+"\n"+end))
			if name == "nameless" {
				eventually(t, "empty", func() bool { return alive(m) == nil })
			}
			if left := alive(m); left != nil {
				t.Errorf("%s, %s: processes %v are left", name, end, left)
			}
		}
	}
}

// The end of the context is SIGTERM, and SIGKILL after the grace.
func TestContextEnds(t *testing.T) {
	r := runner(t)
	cause := errors.New("enough")
	for name, c := range map[string]struct {
		script, want string
		cause        error
	}{
		"heeds":       {"trap 'echo bye; exit 7' TERM; echo up >up; while :; do sleep 0.01; done", "exit code 7: bye", cause},
		"is stopped":  {"trap 'echo bye; exit 7' TERM; echo up >up; kill -STOP $$; while :; do sleep 0.01; done", "exit code 7: bye", cause},
		"ignores":     {"trap '' TERM; echo up >up; while :; do sleep 0.01; done", "killed by SIGKILL", cause},
		"lost":        {"trap 'echo bye; exit 7' TERM; echo up >up; while :; do sleep 0.01; done", "killed by SIGKILL", lock.ErrLost},
		"done anyway": {"trap 'exit 0' TERM; echo up >up; while :; do sleep 0.01; done", "", cause},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			cmd := sh(c.script)
			cmd.Dir, cmd.Grace = t.TempDir(), 300*time.Millisecond
			if errors.Is(c.cause, cause) && name != "ignores" {
				cmd.Grace = time.Minute
			}
			done := make(chan error)
			go func() { done <- run(t, ctx, r, cmd) }()
			eventually(t, "up", func() bool { _, err := os.Stat(filepath.Join(cmd.Dir, "up")); return err == nil })
			stop(c.cause)
			err := <-done
			if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A Runner that is called to run again refuses that, while it runs and after its end, and goes on to work.
func TestRunnerRunsOnce(t *testing.T) {
	r, err := exec.New(exec.Config{Warden: []string{"warden"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 2)
	for range 2 {
		go func() { ended <- r.Run(ctx) }()
	}
	const want = "exec: run: a runner runs once"
	if err := <-ended; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := run(t, t.Context(), r, sh("true")); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := r.Run(ctx); err == nil || err.Error() != want {
		t.Errorf("after its end: %v, want %s", err, want)
	}
}

// The end of a Runner kills the remaining commands.
func TestRunnerEnds(t *testing.T) {
	r, err := exec.New(exec.Config{Warden: []string{"warden"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, done := make(chan error), make(chan error)
	go func() { ended <- r.Run(ctx) }()
	m := marker(t)
	go func() { done <- run(t, t.Context(), r, sh("trap '' TERM; setsid sleep "+m+" & sleep "+m)) }()
	eventually(t, "two processes", func() bool { return len(alive(m)) >= 2 })
	stop()
	if err := <-done; err == nil || err.Error() != "killed by SIGKILL" {
		t.Errorf("the command: %v, want killed by SIGKILL", err)
	}
	if err := <-ended; err != nil || alive(m) != nil {
		t.Errorf("%v, left %v", err, alive(m))
	}
	if err := run(t, t.Context(), r, sh("true")); err == nil {
		t.Error("a command ran after the end")
	}
}

func TestNotFound(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command exec.Command
		want    string
		is      error
	}{
		{exec.Command{Args: []string{"no-such-program"}}, `exec: finding "no-such-program" in PATH: file does not exist`, os.ErrNotExist},
		{exec.Command{Args: []string{"./none"}, Dir: dir}, `exec: finding "` + dir + `/none": file does not exist`, os.ErrNotExist},
		{exec.Command{Args: []string{text}}, `exec: finding "` + text + `": permission denied`, os.ErrPermission},
		{exec.Command{Args: []string{"true"}, Dir: dir + "/none"}, `exec: finding the directory "` + dir + `/none": file does not exist`, os.ErrNotExist},
		{exec.Command{Args: []string{"true"}, Dir: text}, `exec: finding the directory "` + text + `": not a directory`, syscall.ENOTDIR},
	} {
		if _, err := c.command.Find(); err == nil || err.Error() != c.want || !errors.Is(err, c.is) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// A program that the system refuses to start fails the run with the reason.
func TestRefusedProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := run(t, t.Context(), runner(t), exec.Command{Args: []string{program}})
	if err == nil || !strings.HasPrefix(err.Error(), `exec: starting "`+program+`": `) || !strings.HasSuffix(err.Error(), "exec format error") {
		t.Errorf("%v, want an error of the format", err)
	}
}

// A program is searched for in the absolute directories of the PATH alone, and one with a slash in the directory of the command.
// The file that is found does not depend on the working directory of the one that starts it.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, mode := range map[string]os.FileMode{"here": 0o700, "sub/tool": 0o700, "locked/tool": 0o600} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, nil, mode)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ program, dir, path, want string }{
		{"tool", "", dir + "/locked:" + dir + "/sub", dir + "/sub/tool"},
		{"tool", "", dir + "/locked:/nothing/there", `exec: finding "tool" in PATH: permission denied`},
		{"tool", "", "sub", `exec: finding "tool" in PATH: file does not exist`},
		{"here", "", ":.:" + dir, dir + "/here"},
		{"here", "", ":.", `exec: finding "here" in PATH: file does not exist`},
		{"./tool", "sub", "", dir + "/sub/tool"},
		{"sub/tool", "", "", dir + "/sub/tool"},
	} {
		command := exec.Command{Args: []string{c.program}, Dir: c.dir, Env: []string{"PATH=" + c.path}}
		got, err := command.Find()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s in %q and PATH=%s: %s, want %s", c.program, c.dir, c.path, got, c.want)
		}
	}
}

func TestFaults(t *testing.T) {
	r, _ := exec.New(exec.Config{Warden: []string{"warden"}})
	mask := 0o1777
	for want, c := range map[string]exec.Command{
		`exec: args is [], must be a program and its arguments`:                                           {},
		`exec: args[1] is "a\x00b", must be without a NUL byte`:                                           {Args: []string{"a", "a\x00b"}},
		`exec: dir is "a\x00b", must be without a NUL byte`:                                               {Args: []string{"a"}, Dir: "a\x00b"},
		`exec: env[0] is "CRONCE_JOB", must be a name that is not empty, and does not begin with CRONCE_`: {Args: []string{"a"}, Env: []string{"CRONCE_JOB=x"}},
		`exec: env[1] is "", must be a name that is not empty, and does not begin with CRONCE_`:           {Args: []string{"a"}, Env: []string{"A=", "=x"}},
		`exec: env[0] is "A", must be name=value`:                                                         {Args: []string{"a"}, Env: []string{"A"}},
		`exec: env[0] is "A", must be a variable without a NUL byte`:                                      {Args: []string{"a"}, Env: []string{"A=\x00"}},
		`exec: args is of 100017 bytes, must be up to 98304 bytes together with env`:                      {Args: []string{"a", strings.Repeat("x", 100000)}},
		`exec: stdin is of 65537 bytes, must be up to 65536 bytes`:                                        {Args: []string{"a"}, Stdin: strings.Repeat("x", 65537)},
		`exec: grace is -1s, must be 0 or more`:                                                           {Args: []string{"a"}, Grace: -time.Second},
		`exec: umask is 01777, must be 0 to 0777`:                                                         {Args: []string{"a"}, Umask: &mask},
		`exec: skip_codes is 0, must be 1 to 255`:                                                         {Args: []string{"a"}, SkipCodes: []int{0}},
		`exec: permanent_codes is 4, must be in one of the lists: it is in skip_codes, too`:               {Args: []string{"a"}, SkipCodes: []int{4}, PermanentCodes: []int{4}},
		`exec: user is "no-such-user", must be a user of this machine, or a number`:                       {Args: []string{"a"}, User: "no-such-user"},
		`exec: group is "no-such-group", must be a group of this machine, or a number`:                    {Args: []string{"a"}, Group: "no-such-group"},
	} {
		if os.Geteuid() != 0 && (c.User != "" || c.Group != "") {
			continue
		}
		if _, err := r.Func(c); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
