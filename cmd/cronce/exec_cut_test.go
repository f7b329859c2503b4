package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
)

// A node loses its store at a random phase of its leases of 20, 25 and 30 seconds, whose margins are
// 2 seconds and more: a busy machine may let the warden wait. Its commands ignore SIGTERM and write
// all the time. The last write of each comes before another node is granted the run: the node
// itself, or else the warden, has ended it.
func TestCommandsEndBeforeTheNextGrant(t *testing.T) {
	t.Parallel()
	const jobs = 24
	server, dir := redisserver.Start(t), t.TempDir()
	proxy := rig.NewProxy(t, server.Addr())
	var yaml strings.Builder
	fmt.Fprintf(&yaml, "jobs:\n")
	for i := range jobs {
		fmt.Fprintf(&yaml, `  - kind: exec
    name: job%d
    spec: "* * * * * *"
    jitter: 900ms
    lease: %ds
    takeover: rerun
    exec:
      dir: %s
      command: [bash, -c, 'trap "" TERM; exec 3<>pipe; while :; do echo >%d.$CRONCE_ATTEMPT; read -t 0.01 -u 3; done']
`, i, 20+i%3*5, dir, i)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	written := func(i, attempt int) bool {
		_, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%d.%d", i, attempt)))
		return err == nil
	}
	all := func(attempt int) func() bool {
		return func() bool {
			for i := range jobs {
				if !written(i, attempt) {
					return false
				}
			}
			return true
		}
	}
	first := startNode(t, "redis://"+proxy.Addr(), yaml.String())
	eventually(t, "all commands write", all(1))
	startNode(t, "redis://"+server.Addr(), yaml.String())
	phase := rand.N(10 * time.Second)
	t.Logf("the store is cut after %v", phase)
	time.Sleep(phase)
	proxy.Set(rig.Faults{Hole: true})
	eventually(t, "all commands write again", all(2))
	for i := range jobs {
		info, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%d.1", i)))
		if err != nil {
			t.Fatal(err)
		}
		if granted := secondGrant(t, "redis://"+server.Addr(), fmt.Sprintf("job%d", i)); !info.ModTime().Before(granted) {
			t.Errorf("job%d was granted to the other node at %v, and its first command wrote until %v", i, granted, info.ModTime())
		}
	}
	first.signal(syscall.SIGKILL)
}

// secondGrant returns when the second attempt of a run was granted, by the store's clock.
func secondGrant(t *testing.T, url, job string) time.Time {
	t.Helper()
	r := cronce(t, "runs", job, "--redis", url, "-o", "json")
	var list struct {
		Runs []struct {
			Granted time.Time `json:"granted"`
			Attempt int       `json:"attempt"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	for _, run := range list.Runs {
		if run.Attempt == 2 {
			return run.Granted
		}
	}
	t.Fatalf("no second attempt of %s: %s", job, r.stdout)
	return time.Time{}
}
