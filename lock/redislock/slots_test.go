package redislock

import (
	"fmt"
	"strings"
	"testing"
)

// The masters of a Cluster have as many partitions each as divide evenly, whatever the namespace is called. A place at the very end of
// a range of slots is the exception.
func TestPartitionsAreSpreadOverMasters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ partitions, masters int }{{3, 3}, {6, 3}, {8, 3}, {8, 4}, {16, 5}, {64, 6}} {
		uneven := 0
		const namespaces = 200
		for i := range namespaces {
			most, count := 0, make([]int, c.masters)
			for _, prefix := range newLayout(&Options{Namespace: fmt.Sprint("app-", i), Partitions: c.partitions}).partitions {
				_, tag, _ := strings.Cut(strings.TrimSuffix(prefix, "}:"), "{")
				m := int(slotOf(tag)) * c.masters / slots
				count[m]++
				most = max(most, count[m])
			}
			if most > (c.partitions+c.masters-1)/c.masters {
				uneven++
			}
		}
		if uneven > namespaces/10 {
			t.Errorf("%d partitions on %d masters: one has more than its share in %d of %d namespaces", c.partitions, c.masters, uneven, namespaces)
		}
	}
}

// The slots are those of the server: https://redis.io/docs/latest/commands/cluster-keyslot.
func TestSlots(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]uint16{"somekey": 11058, "123456789": 12739, "": 0} {
		if got := slotOf(tag); got != want {
			t.Errorf("the slot of %q is %d, want %d", tag, got, want)
		}
	}
}

// Partition 0, which has the layout, has the same tag however many partitions there are, and no two partitions share one.
func TestTagsOfPartitions(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for p := range maxPartitions {
		tag := tagOf("cronce", p, maxPartitions)
		if seen[tag] || p == 0 && tag != "cronce.0" {
			t.Errorf("partition %d has the tag %q", p, tag)
		}
		seen[tag] = true
	}
}
