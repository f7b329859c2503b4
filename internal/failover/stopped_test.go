package failover_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// writing writes a text, unless a higher fence was seen.
var writing = redis.NewScript(redislock.GuardLua() + `
if not admit(KEYS[2], ARGV[1]) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2])
return 1`)

func write(t *testing.T, c redis.UniversalClient, fence int64, text string) bool {
	t.Helper()
	n, err := writing.Run(t.Context(), c, []string{"{r}:text", "{r}:fence"}, fence, text).Int()
	must(t, err)
	return n == 1
}

// writerAt is set in the process of a holder, to the server's address.
const writerAt = "CRONCE_FAILOVER_WRITER"

// A holder is stopped for longer than its lease, continues, and writes without
// looking, as a process does that was stopped between its look and its write.
// Somebody else has the lock by then: the write is refused.
func TestStoppedHolderIsRefused(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	o := redis.UniversalOptions{Addrs: []string{s.Addr()}}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHolder$", "-test.v")
	cmd.Env = append(os.Environ(), writerAt+"="+s.Addr())
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	says := make(chan string, 1000)
	go func() {
		defer close(says)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, word, found := strings.Cut(lines.Text(), "holder: "); found {
				says <- word
			}
		}
	}()
	if first := soon(t, says); first != "written" {
		t.Fatalf("the holder's first write: %q", first)
	}
	must(t, cmd.Process.Signal(syscall.SIGSTOP))
	second, err := lock.New(driver(t, o), "b").Acquire(t.Context(), "key", lock.Options{TTL: time.Minute})
	must(t, err)
	c := client(t, o)
	if !write(t, c, second.Fence(), "second") {
		t.Error("the second holder's write was refused")
	}
	must(t, cmd.Process.Signal(syscall.SIGCONT))
	for word := ""; word != "refused"; word = soon(t, says) {
		if c.Get(t.Context(), "{r}:text").Val() != "second" {
			t.Fatal("the first holder's late write was done")
		}
	}
	if word := soon(t, says); word != "lost" {
		t.Errorf("then the holder says %q, want that its context has ended", word)
	}
	must(t, second.Release(t.Context()))
}

// TestHolder is the other process. It writes on and on, until it is refused.
func TestHolder(t *testing.T) {
	addr := os.Getenv(writerAt)
	if addr == "" {
		t.Skip("this is what TestStoppedHolderIsRefused starts beside it")
	}
	o := redis.UniversalOptions{Addrs: []string{addr}}
	lease, err := lock.New(driver(t, o), "a").Acquire(t.Context(), "key", lock.Options{TTL: lock.MinTTL})
	must(t, err)
	c := client(t, o)
	for write(t, c, lease.Fence(), "first") {
		fmt.Println("holder: written")
		<-time.After(time.Millisecond)
	}
	fmt.Println("holder: refused")
	<-lease.Context().Done()
	fmt.Println("holder: lost")
}
