package redislock_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	must(t, err)
	return string(text)
}

// An escape has none of the characters that separate, and can be undone: so no
// two names have the same.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "job", "a{b}", "{}", "a|b;c+d", "%7B", "键", "\xff", "a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := redislock.Escape(s)
		if strings.ContainsAny(e, "{}|;+!\r\n ") {
			t.Errorf("the escape of %q is %q", s, e)
		}
		if back, ok := redislock.Unescape(e); !ok || back != s {
			t.Errorf("%q became %q and then %q", s, e, back)
		}
		if text, ok := redislock.Unescape(s); ok && !utf8.ValidString(s) && text == "" && s != "" {
			t.Errorf("%q was read as nothing", s)
		}
	})
}

// With any namespaces and names, no key is shared, and all keys of one partition have one hash tag and
// so one slot.
func TestKeysStayApart(t *testing.T) {
	m := miniredis.RunT(t)
	c := client(t, m.Addr())
	some := func(r *rand.Rand, least, most int, all []string) []string { // different ones, in any order
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:least+r.IntN(most-least+1)]
	}
	seed := rand.Uint64()
	for round := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, round))
		m.FlushAll()
		names := some(r, 2, 6, []string{"a", "{a}", "}a", "a}", "{", "a:b", "a%3Ab", "s:a", "}:s:a", "a|b", "{cronce.0}:s:a", "键"})
		spaces := some(r, 2, 3, []string{"n", "n.0", "N", "n-v1", "v1"})
		partitions := 1 + r.IntN(5)
		for _, space := range spaces {
			if err := populate(c, space, names, partitions); err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
		}
		series, locks := 0, 0
		for _, key := range m.Keys() {
			tag := tagOf(key)
			switch space, rest, _ := strings.Cut(key, ":v1:"); {
			case strings.HasPrefix(rest, "l:"):
				locks++
				if name, ok := redislock.Unescape(tag); !ok || !slices.Contains(names, name) {
					t.Fatalf("seed %d, round %d: the tag of the lock %q is no name", seed, round, key)
				}
			case tag == "" || !strings.HasPrefix(tag, space+"."):
				t.Fatalf("seed %d, round %d: the key %q has the tag %q", seed, round, key, tag)
			case strings.Contains(key, "}:s:"):
				series++
			}
		}
		if want := len(spaces) * len(names); series != want || locks != want {
			t.Fatalf("seed %d, round %d: %d series and %d locks in the store, want %d of each: %q", seed, round, series, locks, want, m.Keys())
		}
	}
}

// populate opens and locks every name in a namespace.
func populate(c redis.UniversalClient, space string, names []string, partitions int) error {
	ctx := context.Background()
	d, err := redislock.New(c, redislock.Options{Namespace: space, Partitions: partitions})
	if err != nil {
		return err
	}
	for _, name := range names {
		if s := d.Open(ctx, []series.OpenRequest{{Key: name, Node: "n"}})[0]; s.Err != nil {
			return s.Err
		}
		if _, err := d.Acquire(ctx, driver.Acquisition{Key: name, Owner: "n/1", TTL: driver.MaxTTL}); err != nil {
			return err
		}
	}
	return nil
}

// tagOf is the part of a key that decides its slot, as Redis Cluster has it.
func tagOf(key string) string {
	_, rest, open := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !open || !closed {
		return ""
	}
	return tag
}
