package zklock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

func TestOptions(t *testing.T) {
	for argument, o := range map[string]zklock.Options{
		"Options.Namespace":    {Namespace: "a/b"},
		"Options.Session":      {Session: time.Millisecond},
		"Options.JournalLines": {JournalLines: -1},
		"Options.JournalBytes": {JournalBytes: -1},
	} {
		_, err := zklock.New([]string{"localhost:2181"}, o)
		if bad, ok := errors.AsType[*driver.ArgumentError](err); !ok || bad.Argument != argument {
			t.Errorf("%s: %v", argument, err)
		}
	}
	for _, servers := range [][]string{nil, {""}} {
		_, err := zklock.New(servers, zklock.Options{})
		if bad, ok := errors.AsType[*driver.ArgumentError](err); !ok || bad.Argument != "servers" {
			t.Errorf("%q: %v", servers, err)
		}
	}
	if _, err := zklock.New([]string{"localhost:2181"}, zklock.Options{Namespace: "zookeeper"}); err == nil {
		t.Error("ZooKeeper's own node was accepted")
	}
}

// A session may last from half a second to an hour, both included.
func TestSessionBounds(t *testing.T) {
	for session, good := range map[time.Duration]bool{
		500*time.Millisecond - 1: false, 500 * time.Millisecond: true, time.Hour: true, time.Hour + 1: false,
	} {
		_, err := zklock.New([]string{"localhost:2181"}, zklock.Options{Session: session})
		if bad, is := errors.AsType[*driver.ArgumentError](err); is == good || is && bad.Argument != "Options.Session" || !is && err != nil {
			t.Errorf("a session of %v: %v, want it accepted: %v", session, err, good)
		}
	}
}

// The list pauses only after all servers have failed since the last connection.
func TestRing(t *testing.T) {
	r := zklock.NewRing()
	must(t, r.Init([]string{"a", "b", "c"}))
	if r.Len() != 3 {
		t.Errorf("%d servers", r.Len())
	}
	seen := make(map[string]int)
	for i := range 9 {
		server, pause := r.Next()
		seen[server]++
		if pause != (i == 3 || i == 6) {
			t.Errorf("try %d pauses: %v", i, pause)
		}
	}
	if len(seen) != 3 || seen["a"] != 3 {
		t.Errorf("the servers came %v times", seen)
	}
	r.Connected()
	if _, pause := r.Next(); pause {
		t.Error("a pause before the first try after a connection")
	}
}

// Two different texts never have the same name, and ZooKeeper accepts all names.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", ".", "..", "...", "a/b", "a%2Fb", "#", "é", "\x00", "%", "%2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := zklock.Escape(s)
		if strings.ContainsAny(name, "/#\x00") || name == "." || name == ".." {
			t.Errorf("%q became %q", s, name)
		}
		if back, ok := zklock.Unescape(name); !ok || back != s {
			t.Errorf("%q became %q and then %q, %v", s, name, back, ok)
		}
		if back, ok := zklock.Unescape(s); ok && zklock.Escape(back) != s {
			t.Errorf("%q was read as %q, which is written as %q", s, back, zklock.Escape(back))
		}
	})
}

// The number of a place wraps around to negative ones: the place before that is still the first.
func TestPlaceNumbersWrapAround(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op, d := operator(t, addr), newDriver(t, addr, zklock.Options{})
	must(t, hold(t, lock.New(d, "warm"), "k").Release(t.Context())) // creates the parent
	for _, name := range []string{"b%2F1#1#-2147483648", "a%2F1#1#2147483647"} {
		_, err := op.Create(d.LockPath("k")+"/"+name, []byte("1|60000|0|false"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		must(t, err)
	}
	at, err := d.Inspect(t.Context(), "k")
	must(t, err)
	if at.Owner != "a/1" || at.Waiting != 1 {
		t.Errorf("%s holds the key, and %d wait", at.Owner, at.Waiting)
	}
}
