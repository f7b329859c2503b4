package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// nodeTo starts a node whose output goes to a file.
func nodeTo(t *testing.T, url, jobs string, out *os.File) *child {
	t.Helper()
	return startTo(t, out, "node", "--config", file(t, "c.yaml", jobs), "--redis", url, "--http", "off")
}

// records returns how often the JSON of a job's runs contains a text.
func records(t *testing.T, url, job, text string) int {
	t.Helper()
	return strings.Count(cronce(t, "runs", job, "-o", "json", "--redis", url).stdout, text)
}

// The log of a node goes to a pipe that is full and not read. The node still runs its ticks, ends
// runs with their timeout, and drains after SIGTERM.
func TestBlockedLog(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	full(t, w)
	n := nodeTo(t, url, "jobs:\n  - {kind: sleep, name: a, spec: '@every 1s', sleep: {for: 1ms}}\n"+
		"  - {kind: sleep, name: long, spec: '@every 2s', timeout: 500ms, sleep: {for: 10m}}\n", w)
	_ = w.Close()
	eventually(t, "runs with a blocked log", func() bool {
		return records(t, url, "a", `"outcome": "ok"`) >= 3 && records(t, url, "long", `"outcome": "timeout"`) >= 1
	})
	n.signal(syscall.SIGTERM)
	if code := n.code(); code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
}

// The reader of a node's output ends. The node continues, and drains after SIGTERM.
func TestClosedLog(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	n := nodeTo(t, url, "jobs:\n  - {kind: sleep, name: a, spec: '@every 1s', sleep: {for: 400ms}}\n", w)
	_ = w.Close()
	first := make([]byte, 1)
	if _, err := r.Read(first); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	eventually(t, "runs with a closed log", func() bool { return records(t, url, "a", `"outcome": "ok"`) >= 3 })
	n.signal(syscall.SIGTERM)
	if code := n.code(); code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
	if cut := records(t, url, "a", "interrupted") + records(t, url, "a", `"state": "running"`); cut > 0 {
		t.Errorf("%d runs were cut", cut)
	}
}

// A command that lists ends with SIGPIPE when its reader has ended, as other programs do.
func TestClosedListing(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	c := startTo(t, w, "version")
	_ = w.Close()
	if code := c.code(); code != -1 || c.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGPIPE {
		t.Errorf("exit code %d, want the end by SIGPIPE", code)
	}
}

// full fills a pipe until it accepts no more bytes.
func full(t *testing.T, w *os.File) {
	t.Helper()
	raw, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		for size := 4096; size > 0; {
			if n, err := syscall.Write(int(fd), make([]byte, size)); err != nil || n < size {
				size /= 2
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
}
