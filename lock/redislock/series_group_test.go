package redislock

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A notice of a group is known for as long as the store keeps the group. However many notices come, a bounded number is known.
func TestGroupNotices(t *testing.T) {
	var n groupNotices
	now := time.Date(2026, 11, 28, 2, 0, 0, 0, time.UTC)
	n.add("a", now)
	n.add("b", now.Add(time.Second))
	for _, c := range []struct {
		group string
		after time.Duration
		want  bool
	}{{"a", 0, true}, {"a", series.GroupLife - 1, true}, {"a", series.GroupLife, false}, {"b", series.GroupLife, true}, {"c", 0, false}} {
		if is := n.has(c.group, now.Add(c.after)); is != c.want {
			t.Errorf("%s is known after %v: %v, want %v", c.group, c.after, is, c.want)
		}
	}
	n.add("c", now.Add(series.GroupLife))
	if len(n.until) != 2 {
		t.Errorf("%d notices are known, want the 2 that have not ended", len(n.until))
	}
	for i := range 2 * maxGroups {
		if n.add(fmt.Sprint(i), now); len(n.until) > maxGroups {
			t.Fatalf("%d notices are known", len(n.until))
		}
	}
}
