package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// A tick is overdue on a server that evicts keys, or keeps nothing on disk. Verify names this
// besides the nodes, because the server may have lost the verdict. It does not mention this for a
// server that keeps all data, nor if no tick is overdue.
func TestOverdueNamesTheStoresRisk(t *testing.T) {
	t.Parallel()
	evicting := []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}
	for name, c := range map[string]struct {
		args      []string
		want, not []string
	}{
		"evicts": {append(evicting, "--appendonly", "yes"), []string{"store risk: eviction: maxmemory-policy is allkeys-lru"}, []string{"persistence"}},
		"both":   {evicting, []string{"store risk: eviction: ", "store risk: persistence: the server keeps nothing on disk"}, nil},
		"keeps":  {[]string{"--appendonly", "yes"}, nil, []string{"store risk"}},
	} {
		t.Run(name, func(t *testing.T) {
			url := "redis://" + redisserver.Start(t, c.args...).Addr()
			began := openJob(t, url)
			r := cronce(t, "verify", "--redis", url)
			r.want(t, exit.Fine)
			if strings.Contains(r.stdout, "store risk") {
				t.Errorf("nothing is overdue: %s", r.stdout)
			}
			began()
			r = cronce(t, "verify", "--redis", url)
			r.want(t, exit.Failed, append(c.want, "OVERDUE", "no node lives")...)
			for _, not := range c.not {
				if strings.Contains(r.stdout, not) {
					t.Errorf("verify has %q: %s", not, r.stdout)
				}
			}
			cronce(t, "verify", "--redis", url, "-o", "json").want(t, exit.Failed, c.want...)
		})
	}
}

// openJob opens a job of every second. The returned function moves its opening an hour into the
// past.
func openJob(t *testing.T, url string) (earlier func()) {
	t.Helper()
	s := storeAt(t, url, func(c *config.Config) { c.Redis.AllowEviction = true })
	schedule, err := spec.Parse("@every 1s", nil)
	if err != nil {
		t.Fatal(err)
	}
	opened := s.Front().Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n", Revision: schedule.Revision(time.Now()), Spec: "@every 1s", Zone: "UTC"}})[0]
	if opened.Err != nil {
		t.Fatal(opened.Err)
	}
	return func() {
		now, ago := strconv.FormatInt(opened.Mark, 10), strconv.FormatInt(opened.Mark-time.Hour.Milliseconds(), 10)
		for _, key := range s.Client.Keys(t.Context(), "*:job").Val() {
			if s.Client.Type(t.Context(), key).Val() == "list" { // the journal, with the line of the opening
				line := s.Client.LIndex(t.Context(), key, 0).Val()
				if err := s.Client.LSet(t.Context(), key, 0, strings.ReplaceAll(line, now, ago)).Err(); err != nil {
					t.Fatal(err)
				}
				continue
			}
			for field, value := range s.Client.HGetAll(t.Context(), key).Val() {
				if err := s.Client.HSet(t.Context(), key, field, strings.ReplaceAll(value, now, ago)).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// While a node is alive, overdue ticks are read once more, because the node may have just come
// back. Without a live node no verdict can come, and verify answers at once.
func TestSecondLook(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 2, 0)
	cl.server.SetTime(time.Now().Add(time.Minute))
	asked := func() int {
		before := cl.server.CommandCount()
		cronce(t, "verify", "--redis", cl.url).want(t, exit.Failed, "OVERDUE")
		return cl.server.CommandCount() - before
	}
	dead := asked()
	if _, err := cl.Front().Beat(t.Context(), series.Beat{Node: "other", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if living := asked(); living <= dead {
		t.Errorf("verify asked %d times with a node alive, %d times with none", living, dead)
	}
}
