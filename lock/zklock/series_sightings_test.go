package zklock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/zklock"
)

// Two nodes open a series with different revisions, and the second has written its own when the first
// is about to create or to write the node of the revisions: the first reads again, and both revisions are in the journal.
func TestRevisionsOfTwoNodesAtOnce(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	other := newDriver(t, addr, zklock.Options{Session: time.Minute})
	for _, is := range []struct {
		key   string
		write uint32 // of the revisions
	}{{"new", create}, {"job", setData}} {
		opens := func(d *zklock.Driver, revision string) {
			if err := d.Open(t.Context(), []series.OpenRequest{{Key: is.key, Node: "n", Revision: revision}})[0].Err; err != nil {
				t.Errorf("opened with %s: %v", revision, err)
			}
		}
		want := []string{"r2", "r3"}
		if is.write == setData {
			opens(other, "r1") // creates the node
			want = append(want, "r1")
		}
		dial := beforeFirst(is.write, "/revisions", func() { opens(other, "r2") })
		opens(newDriver(t, addr, zklock.Options{Session: time.Minute, Dial: dial}), "r3")
		j, err := other.Journal(t.Context(), is.key, 0)
		must(t, err)
		seen := map[string]bool{}
		for _, u := range j.Revisions {
			seen[u.Revision] = true
		}
		if len(seen) != len(want) || slices.ContainsFunc(want, func(revision string) bool { return !seen[revision] }) {
			t.Errorf("the revisions of %s are %+v, want %q", is.key, j.Revisions, want)
		}
	}
}
