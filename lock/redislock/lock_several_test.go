package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// Five locks take two commands on a single server, and one more each when one of
// them is not free.
func TestSeveralCommands(t *testing.T) {
	addr := redisserver.Start(t).Addr()
	c := client(t, addr)
	l, _ := pod(t, addr, "a")
	keys := names(5)
	pair := func() {
		all, err := l.AcquireAll(patient(t.Context()), keys, lock.Options{})
		must(t, err)
		must(t, all.Release(t.Context()))
	}
	pair()
	must(t, c.ConfigResetStat(t.Context()).Err())
	for range 10 {
		pair()
	}
	if n := calls(t, c, "evalsha"); n != 20 || calls(t, c, "eval") != 0 {
		t.Errorf("10 times 5 locks took %d scripts", n)
	}
	held := acquireKey(t, l, keys[4])
	ctx := t.Context()
	got := make(chan error, 1)
	go func() {
		all, err := l.AcquireAll(ctx, keys, lock.Options{})
		if err == nil {
			err = all.Release(ctx)
		}
		got <- err
	}()
	until(t, "a place", func() bool { at, err := l.Inspect(ctx, keys[4]); return err == nil && at.Waiting > 0 })
	must(t, held.Release(ctx))
	must(t, <-got)
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Locks that too few replicas have are given back with one request, so that a caller waits for one at most, however many they are.
func TestSeveralAreGivenBackTogether(t *testing.T) {
	t.Parallel()
	d, c := realDriver(t, redislock.Options{})
	scripts := func(keys int) int {
		as := several("a/1", names(keys)...)
		as[0].Replicas = 1
		must(t, c.ConfigResetStat(t.Context()).Err())
		_, err := d.AcquireAll(t.Context(), as)
		lacks(t, "several locks", err, 1, 0)
		return calls(t, c, "evalsha")
	}
	scripts(1) // loads them
	if one, many := scripts(1), scripts(20); many != one {
		t.Errorf("1 lock that no replica has takes %d scripts, and 20 take %d", one, many)
	}
}

func several(owner string, keys ...string) []driver.Acquisition {
	as := make([]driver.Acquisition, len(keys))
	for i, key := range keys {
		as[i] = driver.Acquisition{Key: key, Owner: owner, TTL: time.Minute}
	}
	return as
}

// In a Cluster the locks of one group are taken in one step, and the locks of several groups in one
// step per group, all or none. Locks that all have different slots are not taken together.
func TestSeveralInCluster(t *testing.T) {
	t.Parallel() // it waits for the servers to meet
	servers := cluster(t)
	c := client(t, servers[0].Addr(), func(o *redis.UniversalOptions) { o.IsClusterMode = true })
	apart := newDriver(t, c, redislock.Options{Namespace: "apart"})
	if _, err := apart.AcquireAll(t.Context(), several("a/1", "user/1/a", "user/1/b")); !errors.Is(err, lock.ErrUnsupported) {
		t.Errorf("locks of two slots: %v, want lock.ErrUnsupported", err)
	}
	d := newDriver(t, c, redislock.Options{GroupBy: "/"})
	var keys []string
	for i := range 6 {
		keys = append(keys, fmt.Sprintf("user/%d/cart", i), fmt.Sprintf("user/%d/wallet", i))
	}
	run := func(owner string) ([]driver.Grant, error) {
		return d.AcquireAll(t.Context(), several(owner, keys...))
	}
	gs, err := run("a/1")
	must(t, err)
	again, err := run("a/1")
	must(t, err)
	for i := range gs {
		if gs[i].Fence == 0 || gs[i].Fence != again[i].Fence || gs[i].Asked.IsZero() {
			t.Errorf("%s: %+v, and asked again %+v", keys[i], gs[i], again[i])
		}
	}
	if _, err := run("b/1"); err == nil {
		t.Error("granted twice")
	}
	hs := make([]driver.LeaseRef, len(keys))
	for i, key := range keys {
		hs[i] = driver.LeaseRef{Key: key, Owner: "a/1", Fence: gs[i].Fence}
	}
	must(t, errors.Join(d.ReleaseAll(t.Context(), hs)...))

	h := acquire(t, d, keys[9], "x/1") // of the last but one group
	_, err = run("b/2")
	if held, ok := errors.AsType[*lock.HeldError](err); !ok || held.Key != h.Key {
		t.Errorf("the error is %v, want one about %s", err, h.Key)
	}
	for i, key := range keys {
		if i != 9 {
			must(t, d.Release(t.Context(), acquire(t, d, key, "y/1")))
		}
	}
	must(t, d.Release(t.Context(), h))

	l := lock.New(d, "n")
	all, err := l.AcquireAll(t.Context(), keys, lock.Options{})
	must(t, err)
	must(t, all.Release(t.Context()))
	all, err = lock.New(apart, "n").AcquireAll(t.Context(), keys, lock.Options{})
	must(t, err)
	must(t, all.Release(t.Context()))
}

// A later slot refuses, and the locks of an earlier one cannot be given back: the caller may have some,
// so the answer is doubt and no refusal.
func TestSeveralThatAreNotGivenBack(t *testing.T) {
	addr := simulated(t).Addr()
	c := redis.NewClusterClient(&redis.ClusterOptions{MaxRedirects: -1, ContextTimeoutEnabled: true, ReadTimeout: time.Minute,
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{End: slots - 1, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
		}})
	t.Cleanup(func() { _ = c.Close() })
	d := newDriver(t, c, redislock.Options{GroupBy: "/"})
	acquire(t, d, "b/1", "x/1")
	keys := []string{"a/1", "a/2", "b/1", "b/2"}
	if _, err := d.AcquireAll(t.Context(), several("n/1", keys...)); !isHeld(err) {
		t.Errorf("with locks given back: %v, want a refusal", err)
	}
	c.AddHook(new(cutAfterRefusal))
	if _, err := d.AcquireAll(t.Context(), several("n/2", keys...)); err == nil || isHeld(err) {
		t.Errorf("without locks given back: %v, want doubt", err)
	}
}

// cutAfterRefusal loses all requests after one that was refused.
type cutAfterRefusal struct{ cut bool }

func (*cutAfterRefusal) DialHook(next redis.DialHook) redis.DialHook { return next }
func (*cutAfterRefusal) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *cutAfterRefusal) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.cut {
			cmd.SetErr(io.ErrUnexpectedEOF)
			return io.ErrUnexpectedEOF
		}
		err := next(ctx, cmd)
		if asked, is := cmd.(*redis.Cmd); is {
			reply, _ := asked.Val().([]any)
			h.cut = len(reply) > 0 && reply[0] == int64(0)
		}
		return err
	}
}

// With any names and any separator, no two locks share a key, and locks with the same name up to
// the separator have one hash tag.
func TestGroupsStayApart(t *testing.T) {
	m := miniredis.RunT(t)
	c := client(t, m.Addr())
	pieces := []string{"", "a", "b", "/", "//", "{", "}", "{}", "}/", "a/b", "%2F", ":", "键", "é/"}
	seed := rand.Uint64()
	for round := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, round))
		piece := func() string { return pieces[r.IntN(len(pieces))] }
		m.FlushAll()
		by := []string{"/", "}", "a", "键", "a/"}[r.IntN(5)]
		d, err := redislock.New(c, redislock.Options{GroupBy: by})
		if err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round, err)
		}
		seen := make(map[string]bool)
		for range 2 + r.IntN(7) {
			name := piece() + piece() + piece()
			if name == "" || seen[name] {
				continue
			}
			seen[name] = true
			if _, err := d.Acquire(t.Context(), driver.Acquisition{Key: name, Owner: "n/1", TTL: time.Minute}); err != nil {
				t.Fatalf("seed %d, round %d: %q: %v: %q", seed, round, name, err, m.Keys())
			}
		}
		if keys := m.Keys(); len(keys) != len(seen) {
			t.Fatalf("seed %d, round %d: %d locks have the keys %q", seed, round, len(seen), keys)
		}
		for _, key := range m.Keys() {
			if tagOf(key) == "" {
				t.Fatalf("seed %d, round %d: the key %q has no tag", seed, round, key)
			}
		}
	}
	d := newDriver(t, c, redislock.Options{GroupBy: "/"})
	m.FlushAll()
	for _, name := range []string{"u/1/a", "u/1/b", "u/1/", "u/2/a", "u", "/u"} {
		acquire(t, d, name, "n/1")
	}
	tags := make(map[string]int)
	for _, key := range m.Keys() {
		tags[tagOf(key)]++
	}
	if want := map[string]int{"u/1": 3, "u/2": 1, "u": 1, "/u": 1}; fmt.Sprint(tags) != fmt.Sprint(want) {
		t.Errorf("the tags are %v, want %v", tags, want)
	}
}

func TestGroupByIsChecked(t *testing.T) {
	c := client(t, miniredis.RunT(t).Addr())
	for _, by := range []string{"12345678901234567", "\n", "\xff"} {
		_, err := redislock.New(c, redislock.Options{GroupBy: by})
		if e, ok := errors.AsType[*lock.ArgumentError](err); !ok || e.Argument != "Options.GroupBy" {
			t.Errorf("%q: %v, want a fault of Options.GroupBy", by, err)
		}
	}
}

// With a separator, keys that are the same up to its last one live in one slot of
// a Cluster, where one step takes them.
func ExampleOptions_groupBy() {
	server, err := miniredis.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	options := &redis.UniversalOptions{Addrs: []string{server.Addr()}}
	redislock.Harden(options)
	client := redis.NewUniversalClient(options)
	defer client.Close()
	store, err := redislock.New(client, redislock.Options{Namespace: "shop", GroupBy: "/"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	all, err := lock.New(store, "pod-1").AcquireAll(ctx, []string{"user/7/cart", "user/7/wallet"}, lock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range server.Keys() {
		fmt.Println(key)
	}
	fmt.Println(all.Release(ctx))
	// Output:
	// shop:v1:l:{user/7}/cart
	// shop:v1:l:{user/7}/wallet
	// <nil>
}
