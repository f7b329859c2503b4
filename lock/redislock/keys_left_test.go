package redislock_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// A series whose state is gone is listed while its journal or its specs are left; one that could not be
// opened is listed from the first try on.
func TestKeysOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	d, admin := realDriver(t, redislock.Options{Namespace: "ns"})
	const prefix = "ns:v1:{ns.0}:"
	listed := func(key string, want bool, when string) {
		t.Helper()
		keys, err := d.Keys(t.Context())
		if err != nil || slices.Contains(keys, key) != want {
			t.Errorf("%s: %v, %v", when, keys, err)
		}
	}
	open := func(key string) error {
		return d.Open(t.Context(), []series.OpenRequest{{Key: key, Node: "n", Revision: "r", Spec: "@every 1s", Zone: "UTC"}})[0].Err
	}
	must(t, open("job"))
	must(t, admin.Del(t.Context(), prefix+"s:job").Err())
	listed("job", true, "the state is gone")
	must(t, admin.Del(t.Context(), prefix+"j:job").Err())
	listed("job", true, "and the journal")
	must(t, admin.Del(t.Context(), prefix+"d:job").Err())
	listed("job", false, "and the specs")
	must(t, admin.Set(t.Context(), prefix+"s:foul", "x", time.Hour).Err())
	if err := open("foul"); !errors.Is(err, driver.ErrUnreadable) {
		t.Errorf("a key of another type is opened: %v", err)
	}
	listed("foul", true, "it could never be opened")
}

// A field of the specs that cannot be read keeps no node from opening the job, whether it is of another
// revision, of its own, or the one to be forgotten. The journal names it until it is written anew.
func TestOpenPassesOverAForgedSighting(t *testing.T) {
	t.Parallel()
	d, admin := realDriver(t, redislock.Options{Namespace: "ns"})
	for _, text := range []string{"", "garbage", "12", "12|", "x|13|n|UTC||s", "|||||"} {
		must(t, admin.HSet(t.Context(), "ns:v1:{ns.0}:d:job", "r", text, "other", text).Err())
		s := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n", Revision: "r", Spec: "@every 1s", Zone: "UTC"}})[0]
		j, err := d.Journal(t.Context(), "job", 0)
		if s.Err != nil || err != nil || len(j.Revisions) != 1 || len(j.Faults) != 1 || s.Other != "" {
			t.Errorf("%q: %+v, journal %+v, %v", text, s, j, err)
		}
	}
	for i := range 40 {
		must(t, admin.HSet(t.Context(), "ns:v1:{ns.0}:d:job", i, "garbage").Err())
	}
	if s := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n", Revision: "new", Spec: "@every 1s", Zone: "UTC"}})[0]; s.Err != nil {
		t.Error(s.Err)
	}
}

// One of two partitions cannot be listed: the series of the other come with the error, which names it.
func TestKeysOfThePartitionsThatAnswer(t *testing.T) {
	t.Parallel()
	d, admin := realDriver(t, redislock.Options{Namespace: "ns", Partitions: 2})
	var want []string
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		must(t, d.Open(t.Context(), []series.OpenRequest{{Key: key, Node: "n"}})[0].Err)
		if d.Partition(key) == 0 {
			want = append(want, key)
		}
	}
	must(t, admin.Set(t.Context(), admin.Keys(t.Context(), "ns:v1:{ns.1*}:all").Val()[0], "x", 0).Err())
	keys, err := d.Keys(t.Context())
	if err == nil || !strings.Contains(err.Error(), "partition 2 of 2") || !slices.Equal(keys, want) || len(want) == 0 || len(want) == 6 {
		t.Errorf("got %v, %v, want %v", keys, err, want)
	}
}
