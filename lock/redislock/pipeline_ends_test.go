package redislock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// More calls than a batch has room for wait behind late batches. When some of those complete as many batches are sent as
// may be in flight, and the next one once these are late too, although no other batch has completed.
func TestQueueBehindLateBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atServer(t)
		store.LateAfter(redislock.LateAfter)
		d.silent, d.end = 1000, make(chan struct{})
		close(d.open)
		var wg sync.WaitGroup
		for range redislock.MaxLate {
			call(t, &wg, store, "mine", time.Hour)
			time.Sleep(redislock.LateAfter)
		}
		for range 1000 {
			wg.Go(func() { _ = asks(t.Context(), store, "mine") })
		}
		synctest.Wait()
		sent := func(when string, want int) {
			t.Helper()
			if synctest.Wait(); len(d.calls()) != want {
				t.Errorf("%s: %d batches were sent, want %d", when, len(d.calls()), want)
			}
		}
		sent("all are late", redislock.MaxLate)
		for range 3 {
			d.end <- struct{}{}
			synctest.Wait()
		}
		sent("three have completed", redislock.MaxLate+2)
		time.Sleep(redislock.LateAfter)
		sent("the next two are late", redislock.MaxLate+3)
		d.answer(t, store, &wg)
	})
}

// A lateEnd is a context whose deadline passes when done is closed, and an answer comes before its error is read.
type lateEnd struct {
	context.Context
	done   chan struct{}
	answer func()
}

func (c *lateEnd) Done() <-chan struct{} { return c.done }

func (c *lateEnd) Err() error {
	select {
	case <-c.done:
		c.answer()
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// A grant that is there at the deadline is not lost: the caller has it.
func TestGrantAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store, wg := atBusyServer(t)
		ctx := &lateEnd{t.Context(), make(chan struct{}), sync.OnceFunc(func() {
			close(d.open)
			synctest.Wait() // the batch completes
		})}
		err := context.Canceled
		wg.Go(func() { err = asks(ctx, store, "mine") })
		synctest.Wait()
		d.open <- struct{}{} // one of the lone requests: the call is flushed
		synctest.Wait()
		close(ctx.done)
		wg.Wait()
		if err != nil {
			t.Errorf("the grant is lost: %v", err)
		}
	})
}

// A releasing server frees the requested locks when open is closed, and notes which commands a
// client may send again.
type releasing struct {
	*fakeServer
	again []bool
}

func (s *releasing) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { return s.free(cmd) }
}

func (s *releasing) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error { return s.free(cmds...) }
}

func (s *releasing) free(cmds ...redis.Cmder) error {
	s.mu.Lock()
	for _, cmd := range cmds {
		s.again = append(s.again, !cmd.NoRetry())
	}
	s.mu.Unlock()
	<-s.open
	for _, cmd := range cmds {
		var replies []any
		for range cmd.Args()[2].(int) / 2 {
			replies = append(replies, int64(1))
		}
		cmd.(interface{ SetVal(any) }).SetVal(replies)
	}
	return nil
}

// A client sends no release again by itself, neither a single one nor one of a batch: the second
// answer would be that another owner may have the lock.
func TestReleasesOfABatchAreSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &releasing{fakeServer: &fakeServer{open: make(chan struct{})}}
		o := &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}
		redislock.Harden(o)
		client := redis.NewUniversalClient(o)
		t.Cleanup(func() { _ = client.Close() })
		client.AddHook(s)
		store, err := redislock.New(client, redislock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		store.NeverLate()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := store.Release(t.Context(), driver.LeaseRef{Key: "k", Owner: "mine", Fence: 7}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(s.open)
		wg.Wait()
		if len(s.again) != 3 || s.again[0] || s.again[1] || s.again[2] {
			t.Errorf("commands that may be sent again: %v, want three and none that may", s.again)
		}
	})
}

// An error about one call of a batch is an error of the server to that caller, in its own words.
func TestErrorOfOneCallOfABatch(t *testing.T) {
	reply, err := redislock.Answered("!WRONGTYPE no lock")
	if reply != nil || !redis.HasErrorPrefix(err, "WRONGTYPE") || err.Error() != "WRONGTYPE no lock" {
		t.Errorf("the answer is %v, %v", reply, err)
	}
	for _, fine := range []any{int64(1), "7", nil} {
		if reply, err := redislock.Answered(fine); reply != fine || err != nil {
			t.Errorf("the answer %v is read as %v, %v", fine, reply, err)
		}
	}
}
