package redislock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// Forged revisions of a series, in any number and of any form, prevent no node from opening it: the
// node's own revision is found, and the others become fewer. A user without the right to scan reads
// all of them, as an earlier version did.
func TestForgedRevisions(t *testing.T) {
	t.Parallel()
	const many = 20_000
	for name, c := range map[string]struct {
		rule, value string
		reads       string // the command that the server has counted
	}{
		"old":        {"+hscan", "1|2|forged|UTC||", "cmdstat_hscan:"},
		"unreadable": {"+hscan", "?", "cmdstat_hscan:"},
		"no right":   {"-hscan", "1|2|forged|UTC||", "cmdstat_hgetall:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := client(t, redisserver.Start(t).Addr())
			d := newDriver(t, restricted(t, raw, "cronce", c.rule), redislock.Options{})
			o := series.OpenRequest{Key: "job", Node: "a", Revision: "r1", Spec: "* * * * *", Zone: "UTC"}
			opened := func() series.Series {
				t.Helper()
				s := d.Open(t.Context(), []series.OpenRequest{o})[0]
				must(t, s.Err)
				return s
			}
			first := opened()
			key := raw.Keys(t.Context(), "cronce:v1:*d:job").Val()[0]
			_, err := raw.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
				for i := range many {
					pipe.HSet(t.Context(), key, fmt.Sprint("forged", i), c.value)
				}
				return nil
			})
			must(t, err)
			must(t, raw.ConfigResetStat(t.Context()).Err())
			if again := opened(); again.Since != first.Since {
				t.Errorf("the spec was first seen at %d, was %d", again.Since, first.Since)
			}
			j, err := d.Journal(t.Context(), "job", 0)
			must(t, err)
			if n := len(j.Revisions) + len(j.Faults); strings.Contains(c.reads, "hscan") && (n == 0 || n > 2000) {
				t.Errorf("the journal comes with %d revisions", n)
			}
			if stats := raw.Info(t.Context(), "commandstats").Val(); !strings.Contains(stats, c.reads) ||
				strings.Contains(stats, "cmdstat_hgetall:") != strings.Contains(c.reads, "hgetall") {
				t.Errorf("want %s in %s", c.reads, stats)
			}
			o.Revision = "r2" // which makes room
			opened()
			if left := raw.HLen(t.Context(), key).Val(); left > many-100 {
				t.Errorf("%d of %d are left", left, many)
			}
		})
	}
}
