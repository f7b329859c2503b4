package stock_test

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
)

// everything uses all operations once.
func everything(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	p := sqlite(t)
	s := some(t, client, p)
	wantReconciled(t, s, p, 1)
	wantState(t, s, "o-00", stock.Paid)
	kept := keptSale(t, client, p, stock.Options{Name: "kept"})
	put(t, kept, "tea", 1)
	follow(t, kept)
	reserve(t, kept, order("x"))
	settleAll(t, kept, p)
	bought := order("bought")
	bought.Buyer = "ada"
	put(t, kept, "tea", 2)
	reserve(t, kept, bought)
	settleAll(t, kept, p)
	if found, err := kept.Differences(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	if err := client.Del(t.Context(), "cronce:v1:stock:{cronce:kept}:shelf").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.RestoreNow(t.Context()); err != nil {
		t.Error(err)
	}
	short := newSale(t, client, stock.Options{Name: "short", Hold: 1e6})
	put(t, short, "tea", 1)
	reserve(t, short, order("x"))
	await(t, "the order has expired", func() bool {
		if err := stock.Release(t.Context(), short, fence(1), pass); err != nil {
			t.Fatal(err)
		}
		product, err := short.Product(t.Context(), "tea")
		return err == nil && product.Stock == 1
	})
}

// The package's documentation names the commands that an ACL user needs. A user
// with them and the namespace's keys can do everything.
func TestMinimalACL(t *testing.T) {
	addr := redisServer(t)
	admin := connect(t, addr)
	err := admin.Do(t.Context(), "ACL", "SETUSER", "stock", "on", ">pw", "resetkeys", "resetchannels", "nocommands", "~cronce:v1:stock:*",
		"+evalsha", "+eval", "+time", "+get", "+set", "+mget", "+incrby", "+pexpire", "+pttl", "+persist", "+del", "+unlink", "+exists", "+hkeys",
		"+hget", "+hmget", "+hset", "+hsetnx", "+hdel", "+hincrby", "+hlen", "+hexists", "+hgetall", "+hscan",
		"+zadd", "+zrem", "+zcard", "+zscore", "+zrange", "+zrangebyscore", "+zscan", "+hello").Err()
	if err != nil {
		t.Fatal(err)
	}
	user := redis.NewClient(&redis.Options{Addr: addr, Username: "stock", Password: "pw", MaxRetries: -1})
	defer user.Close()
	everything(t, user)
	if err := user.Get(t.Context(), "foreign").Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
		t.Errorf("GET as the minimal user = %v, want NOPERM", err)
	}
}

// In Cluster a script may use only keys that it declares, all in one slot.
func TestCluster(t *testing.T) {
	server := redisserver.Cluster(t, 1, 0)[0]
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr()}, ContextTimeoutEnabled: true})
	defer client.Close()
	everything(t, client)
}

// In a full store nothing can be reserved, and Reserve says so; what was reserved
// can be paid, cancelled, released and settled.
func TestFullStore(t *testing.T) {
	client := connect(t, redisServer(t, "--maxmemory-policy", "noeviction"))
	p := sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 10)
	fill(t, s, 3)
	if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Reserve(t.Context(), order("new")); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("in a full store: %v, want OOM", err)
	}
	if _, err := pay(t.Context(), s, "o-00"); err != nil {
		t.Error(err)
	}
	if _, err := s.Cancel(t.Context(), "o-01"); err != nil {
		t.Error(err)
	}
	if err := stock.Release(t.Context(), s, fence(1), pass); err != nil {
		t.Error(err)
	}
	settle(t, s, p, 1, 3)
	wantProduct(t, s, "tea", 10, 8, 1, 1)
	wantReconciled(t, s, p, 1)
}

// deaf loses the reply to every second command: the server has done it, the
// client does not know.
type deaf struct{ commands atomic.Int64 }

func (d *deaf) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d *deaf) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (d *deaf) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil && d.commands.Add(1)%2 == 1 {
			cmd.SetErr(io.ErrUnexpectedEOF)
			return io.ErrUnexpectedEOF
		}
		return err
	}
}

// Every second reply is lost, and the store forgets its scripts in between:
// nothing is counted twice, and what was asked has its answer.
func TestLostReplies(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		client.AddHook(new(deaf))
		p := sqlite(t)
		s := newSale(t, client, stock.Options{})
		put(t, s, "tea", 10)
		for i := range 4 {
			if _, _, err := s.Reserve(t.Context(), order(string(rune('a'+i)))); err != nil {
				t.Fatal(err)
			}
			client.ScriptFlush(t.Context())
		}
		if _, err := pay(t.Context(), s, "a"); err != nil {
			t.Error(err)
		}
		if _, err := s.Cancel(t.Context(), "b"); err != nil {
			t.Error(err)
		}
		if _, err := stock.Settle(t.Context(), s, p.Database, 3, fence(1), pass); err != nil {
			t.Error(err)
		}
		wantProduct(t, s, "tea", 10, 7, 2, 1)
		p.wantLines(t, productRows, "tea 10 2 1")
		if reported, err := reconcile(t, s, p, 1); err != nil {
			t.Errorf("%v: %s", err, reported)
		}
	})
}

// endAfter lets n commands pass, fails all that follow, and ends their caller.
type endAfter struct {
	n    int
	err  error
	stop context.CancelFunc
	seen atomic.Int64
}

func (e *endAfter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (e *endAfter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (e *endAfter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if e.seen.Add(1) > int64(e.n) {
			e.stop()
			cmd.SetErr(e.err)
			return e.err
		}
		return next(ctx, cmd)
	}
}
