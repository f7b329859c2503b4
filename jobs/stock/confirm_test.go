package stock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/jobs/stock"
)

// writes is how often the data of a server was changed since it started: it never
// saves here.
func writes(t *testing.T, client redis.UniversalClient) string {
	t.Helper()
	info, err := client.InfoMap(t.Context(), "persistence").Result()
	if err != nil {
		t.Fatal(err)
	}
	return info["Persistence"]["rdb_changes_since_last_save"]
}

// An order that too few replicas have is asked for again, over another connection
// too, and paid twice: as long as no replica has it, none of it counts. The server
// waits only for what the connection has written, so every question writes.
func TestConfirmedAgain(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t, "--save", "", "--repl-diskless-sync-delay", "0")
	link := rig.NewProxy(t, server.Addr())
	replica(t, link.Addr())
	direct := connect(t, server.Addr())
	put(t, newSale(t, direct, stock.Options{Replicas: 1, ReplicaTimeout: 2 * time.Second}), "tea", 5)
	link.Set(rig.Faults{Hole: true})
	for _, c := range []struct {
		name string
		ask  func(s *stock.Sale) error
	}{
		{"reserve", func(s *stock.Sale) error { _, _, err := s.Reserve(t.Context(), order("o")); return err }},
		{"reserve again", func(s *stock.Sale) error { _, _, err := s.Reserve(t.Context(), order("o")); return err }},
		{"pay", func(s *stock.Sale) error { _, err := pay(t.Context(), s, "o"); return err }},
		{"pay again", func(s *stock.Sale) error { _, err := pay(t.Context(), s, "o"); return err }},
	} {
		s := newSale(t, connect(t, server.Addr()), stock.Options{Replicas: 1, ReplicaTimeout: 50 * time.Millisecond})
		before := writes(t, direct)
		if err := c.ask(s); !errors.Is(err, stock.ErrUnconfirmed) {
			t.Errorf("%s: %v, want ErrUnconfirmed", c.name, err)
		}
		if writes(t, direct) == before {
			t.Errorf("%s: nothing was written that could be waited for", c.name)
		}
	}
}

// In a full store what was reserved can be paid, also where replicas are asked.
func TestConfirmedInFullStore(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t, "--maxmemory-policy", "noeviction", "--repl-diskless-sync-delay", "0")
	replica(t, server.Addr())
	client := connect(t, server.Addr())
	s := newSale(t, client, stock.Options{Replicas: 1, ReplicaTimeout: 2 * time.Second})
	put(t, s, "tea", 5)
	fill(t, s, 1)
	if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := pay(t.Context(), s, "o-00"); err != nil {
			t.Error(err)
		}
	}
}
