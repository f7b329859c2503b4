package failover_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/redislock"
)

// writing writes a text, unless a higher fence was seen.
var writing = redis.NewScript(guard.Lua() + `
if not admit(KEYS[2], ARGV[1]) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2])
return 1`)

func write(ctx context.Context, c redis.UniversalClient, fence int64, text string) (bool, error) {
	n, err := writing.Run(ctx, c, []string{"{r}:text", "{r}:fence"}, fence, text).Int()
	return n == 1, err
}

// holderAt is set in the process of a holder, to the server's address.
const holderAt = "CRONCE_FAILOVER_HOLDER"

// TestMain is two programs: the tests, and the holder that one of them starts.
func TestMain(m *testing.M) {
	if addr := os.Getenv(holderAt); addr != "" {
		fmt.Println(holder(context.Background(), addr))
		os.Exit(1)
	}
	os.Exit(sqlserver.Main(m))
}

// A holder is stopped for longer than its lease, continues, and writes without a check, like a process
// that was stopped between its check and its write. Another owner has the lock by then, so the write is
// refused.
func TestStoppedHolderIsRefused(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	o := redis.UniversalOptions{Addrs: []string{s.Addr()}}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderAt+"="+s.Addr())
	serverprocess.EndWithParent(cmd, syscall.SIGKILL)
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
			says <- lines.Text()
		}
	}()
	if first := rig.Soon(t, says); first != "written" {
		t.Fatalf("the holder's first write: %q", first)
	}
	must(t, cmd.Process.Signal(syscall.SIGSTOP))
	second, err := lock.New(newDriver(t, o), "b").Acquire(t.Context(), "key", lock.Options{TTL: time.Minute})
	must(t, err)
	c := client(t, o)
	if written, err := write(t.Context(), c, second.Fence(), "second"); err != nil || !written {
		t.Errorf("the second holder's write was refused: %v", err)
	}
	must(t, cmd.Process.Signal(syscall.SIGCONT))
	for word := ""; word != "refused"; word = rig.Soon(t, says) {
		if c.Get(t.Context(), "{r}:text").Val() != "second" {
			t.Fatal("the first holder's late write was done")
		}
	}
	if word := rig.Soon(t, says); word != "lost" {
		t.Errorf("then the holder says %q, want that its context has ended", word)
	}
	must(t, second.Release(t.Context()))
}

// holder is the other process. It writes on and on, until it is refused.
func holder(ctx context.Context, addr string) error {
	c := newClient(redis.UniversalOptions{Addrs: []string{addr}})
	defer c.Close()
	d, err := redislock.New(c, redislock.Options{})
	if err != nil {
		return err
	}
	lease, err := lock.New(d, "a").Acquire(ctx, "key", lock.Options{TTL: driver.MinTTL})
	if err != nil {
		return err
	}
	for written := true; written; <-time.After(time.Millisecond) {
		if written, err = write(ctx, c, lease.Fence(), "first"); err != nil {
			return err
		}
		if written {
			fmt.Println("written")
		}
	}
	fmt.Println("refused")
	<-lease.Context().Done()
	return errors.New("lost")
}
