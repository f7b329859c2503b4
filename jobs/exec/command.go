package exec

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// RunIDEnv is the environment variable of a command that has the id of its run.
const RunIDEnv = "CRONCE_RUN_ID"

// defaultPath is the PATH of a command if neither it nor the node has one.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// passed are the variables of the node that a command gets.
var passed = []string{"PATH", "HOME", "USER", "LANG", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// A Command is the work of a job: a program with its arguments. Only Args is required. A function
// made from it keeps a copy.
type Command struct {
	// Args are the program and its arguments. No shell reads them. A program without a slash is
	// searched for in the PATH of Env; one with a slash is relative to Dir.
	Args []string
	// Dir is the working directory. Empty: the node's.
	Dir string
	// Env has variables, as name=value, in addition to those that every command gets: PATH, HOME,
	// USER, LANG, LC_*, TMPDIR and SSL_CERT_* of the node, and CRONCE_JOB, CRONCE_TICK (Run.Tick,
	// RFC 3339, UTC), CRONCE_RUN_ID, CRONCE_FENCE and CRONCE_ATTEMPT, and of a shard CRONCE_SHARD,
	// CRONCE_SHARDS and CRONCE_PARAM. A command gets no other variable of the
	// node.
	Env []string
	// Stdin is the standard input, up to 64 KiB. Empty: /dev/null.
	Stdin string
	// User and Group, each a name or a number, set the user and the group of the process, which
	// also gets the supplementary groups of the user. The process can then gain no privileges.
	// Empty: the node's. Other values require root, and Linux.
	User, Group string
	// Umask is the mode mask of new files. Nil: the node's.
	Umask *int
	// SkipCodes are exit codes for a command that found nothing to do. PermanentCodes are exit
	// codes after which another try is useless, as it always is after 126 and 127. If RetryCodes is
	// not empty, only these codes allow another try.
	SkipCodes, PermanentCodes, RetryCodes []int
	// Grace is how long after SIGTERM the processes get SIGKILL. Zero: 4s. It must be below
	// scheduler.Config.CancelGrace; otherwise the node logs that the run ignores its context.
	Grace time.Duration
	// Log sends each line of the output to the run's logger. Otherwise only the end of the output
	// is kept, for the error of a failed run.
	Log bool
	// Secrets are texts that are masked in the output, such as passwords in Env. Texts shorter than
	// 6 bytes are not masked.
	Secrets []string
}

const (
	defaultGrace = 4 * time.Second
	maxStdin     = 64 << 10
	maxArgs      = 96 << 10 // bytes of arguments and environment
	perItem      = 8        // additional bytes that each item counts
)

// A FieldError is a fault in a Command.
type FieldError struct {
	Field, Value, Allowed string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("exec: %s is %s, must be %s", e.Field, e.Value, e.Allowed)
}

// check returns the faults of a command.
func (c *Command) check() error {
	var errs []error
	bad := func(field, allowed, format string, args ...any) {
		errs = append(errs, &FieldError{field, fmt.Sprintf(format, args...), allowed})
	}
	size := len(c.Stdin)
	if len(c.Args) == 0 || c.Args[0] == "" {
		bad("args", "a program and its arguments", "%q", c.Args)
	}
	if i := slices.IndexFunc(c.Args, hasNUL); i >= 0 {
		bad(fmt.Sprintf("args[%d]", i), "without a NUL byte", "%q", c.Args[i])
	}
	if hasNUL(c.Dir) {
		bad("dir", "without a NUL byte", "%q", c.Dir)
	}
	for i, v := range c.Env {
		size += len(v) + perItem
		name, _, ok := strings.Cut(v, "=")
		allowed := ""
		switch {
		case !ok:
			allowed = "name=value"
		case name == "" || strings.HasPrefix(name, "CRONCE_"):
			allowed = "a name that is not empty, and does not begin with CRONCE_"
		case hasNUL(v):
			allowed = "a variable without a NUL byte"
		}
		if allowed != "" {
			bad(fmt.Sprintf("env[%d]", i), allowed, "%q", name)
		}
	}
	for _, a := range c.Args {
		size += len(a) + perItem
	}
	if size-len(c.Stdin) > maxArgs {
		bad("args", fmt.Sprintf("up to %d bytes together with env", maxArgs), "of %d bytes", size-len(c.Stdin))
	}
	if len(c.Stdin) > maxStdin {
		bad("stdin", fmt.Sprintf("up to %d bytes", maxStdin), "of %d bytes", len(c.Stdin))
	}
	if c.Grace < 0 {
		bad("grace", "0 or more", "%v", c.Grace)
	}
	if c.Umask != nil && runtime.GOOS == "windows" {
		bad("umask", "nil on Windows", "%#o", *c.Umask)
	}
	if c.Umask != nil && (*c.Umask < 0 || *c.Umask > 0o777) {
		bad("umask", "0 to 0777", "%#o", *c.Umask)
	}
	errs = append(errs, c.checkCodes()...)
	if _, err := c.credential(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func hasNUL(s string) bool { return strings.ContainsRune(s, 0) }

func (c *Command) checkCodes() (errs []error) {
	meaning := map[int]string{}
	for _, list := range []struct {
		field string
		codes []int
	}{{"skip_codes", c.SkipCodes}, {"permanent_codes", c.PermanentCodes}, {"retry_codes", c.RetryCodes}} {
		for _, code := range list.codes {
			if code < 1 || code > 255 {
				errs = append(errs, &FieldError{list.field, fmt.Sprint(code), "1 to 255"})
			} else if other := meaning[code]; other != "" && other != list.field {
				errs = append(errs, &FieldError{list.field, fmt.Sprint(code), "in one of the lists: it is in " + other + ", too"})
			}
			meaning[code] = list.field
		}
	}
	return errs
}

// environment returns the variables of a command, except the ones of its run. Later ones win.
func (c *Command) environment() []string {
	env := []string{"PATH=" + defaultPath}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, v)
		}
	}
	return dedupe(append(env, c.Env...))
}

// dedupe keeps the last of several variables with the same name.
func dedupe(env []string) (out []string) {
	place := map[string]int{}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if i, twice := place[name]; twice {
			out[i] = v
			continue
		}
		place[name] = len(out)
		out = append(out, v)
	}
	return out
}

// Find returns the file that the command runs. The error names the program, and wraps
// fs.ErrNotExist or fs.ErrPermission. A program may exist on one node and not on another.
func (c *Command) Find() (string, error) {
	name := c.Args[0]
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil {
			return "", fmt.Errorf("exec: finding the directory %q: %w", c.Dir, unwrapPath(err))
		} else if !info.IsDir() {
			return "", fmt.Errorf("exec: finding the directory %q: %w", c.Dir, syscall.ENOTDIR)
		}
	}
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		return c.executable(path)
	}
	var last error = os.ErrNotExist
	for _, dir := range filepath.SplitList(variable(c.environment(), "PATH")) {
		if !filepath.IsAbs(dir) {
			continue // the program must not depend on the working directory
		}
		path, err := osexec.LookPath(filepath.Join(dir, name))
		if err == nil {
			return path, nil
		}
		if errors.Is(err, os.ErrPermission) {
			last = os.ErrPermission
		}
	}
	return "", fmt.Errorf("exec: finding %q in PATH: %w", name, last)
}

func (c *Command) executable(path string) (string, error) {
	found, err := osexec.LookPath(path)
	if err != nil {
		return "", fmt.Errorf("exec: finding %q: %w", path, unwrapPath(err))
	}
	return filepath.Abs(found)
}

// unwrapPath removes the path from an error, because the caller's text has it.
func unwrapPath(err error) error {
	for _, known := range []error{os.ErrNotExist, os.ErrPermission} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

// variable returns the value of a variable in a list of name=value.
func variable(env []string, name string) string {
	for _, v := range env {
		if n, value, _ := strings.Cut(v, "="); n == name {
			return value
		}
	}
	return ""
}
