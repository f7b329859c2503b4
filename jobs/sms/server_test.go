package sms_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/sms"
)

// everything uses all operations once.
func everything(t *testing.T, o *sms.Outbox) {
	t.Helper()
	fill(t, o, 4)
	p := take(t, o, holder(1), 4)
	mark(t, o, holder(1), p[0].Sent(1), p[1].Failed(0, "no"), p[2].Retry(0, 0, "busy"), p[3].Back())
	if p := take(t, o, holder(2), 4); len(p) != 2 {
		t.Errorf("took %v, want two again", ids(p))
	}
	if p := take(t, o, holder(3), 4); len(p) != 2 {
		t.Errorf("took over %v, want two", ids(p))
	}
	if all, err := o.List(t.Context(), "", 10); err != nil || len(all) != 4 {
		t.Errorf("List = %v, %v", all, err)
	}
	if _, err := o.Trim(t.Context()); err != nil {
		t.Error(err)
	}
	if err := o.Receive(t.Context(), sms.Receipt{ID: "m-00", Delivered: true}); err != nil {
		t.Error(err)
	}
	wantCounts(t, o, sms.Counts{Taken: 2, Sent: 1, Repeated: 1, Failed: 1, Delivered: 1})
	accept(t, o, sms.Message{ID: "extra", To: "+12025550101", Text: "x"}, true)
	if err := o.Retry(t.Context(), "extra"); err != nil {
		t.Error(err)
	}
	if f, err := o.Forget(t.Context(), "+12025550101"); err != nil || f.Deleted != 1 {
		t.Errorf("Forget = %+v, %v", f, err)
	}
}

// The package's documentation names the commands that an ACL user needs. A user
// with them and the namespace's keys can do everything; without the namespace's
// keys, nothing.
func TestMinimalACL(t *testing.T) {
	addr := redisserver.Start(t).Addr()
	admin := connect(t, &redis.Options{Addr: addr})
	acl := func(user string, rules ...any) {
		t.Helper()
		args := append([]any{"ACL", "SETUSER", user, "on", ">pw", "resetkeys", "resetchannels", "nocommands"}, rules...)
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	commands := []any{"+evalsha", "+eval", "+time", "+hget", "+hmget", "+hset", "+hdel",
		"+hscan",
		"+zadd", "+zrem", "+zcard", "+zcount", "+zrange", "+zscore", "+zrangebyscore", "+hello"}
	acl("sms", append(commands, "~cronce:v1:sms:*")...)
	acl("else", append(commands, "~other:v1:sms:*")...)

	user := connect(t, &redis.Options{Addr: addr, Username: "sms", Password: "pw"})
	o := outbox(t, user)
	everything(t, o)
	admin.ZAdd(t.Context(), "cronce:v1:sms:{cronce}:sent", redis.Z{Score: 1, Member: "m-00"})
	if n, err := o.Trim(t.Context()); n != 1 || err != nil {
		t.Errorf("Trim = %d, %v, want 1", n, err)
	}
	if err := user.Get(t.Context(), "foreign").Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
		t.Errorf("GET as the minimal user = %v, want NOPERM", err)
	}
	_, err := outbox(t, connect(t, &redis.Options{Addr: addr, Username: "else", Password: "pw"})).Counts(t.Context())
	if err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("Counts with another namespace's keys = %v, want NOPERM", err)
	}
}

// In Cluster a script may use only keys that it declares, all in one slot.
func TestCluster(t *testing.T) {
	server := redisserver.Cluster(t, 1, 0)[0]
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr()}, ContextTimeoutEnabled: true})
	defer client.Close()
	everything(t, outbox(t, client))
}

// The store forgets the scripts, as a promoted replica does.
func TestScriptFlush(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 1)
		p := take(t, o, holder(1), 1)
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		mark(t, o, holder(1), p[0].Sent(0))
		wantCounts(t, o, sms.Counts{Sent: 1, Once: 1})
	})
}

// In a full store messages can be neither accepted nor taken, and both calls report that. Taken messages
// can still be marked.
func TestFullStore(t *testing.T) {
	client := connect(t, &redis.Options{Addr: redisserver.Start(t, "--maxmemory-policy", "noeviction").Addr()})
	o := outbox(t, client)
	fill(t, o, 2)
	p := take(t, o, holder(1), 1)
	if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	_, acceptErr := o.Accept(t.Context(), sms.Message{ID: "new", To: "+12025550101", Text: "x"})
	_, takeErr := o.Take(t.Context(), holder(2), 1)
	for _, err := range []error{acceptErr, takeErr} {
		if err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("in a full store: %v, want OOM", err)
		}
	}
	mark(t, o, holder(1), p[0].Sent(0))
	wantCounts(t, o, sms.Counts{Queued: 1, Due: 1, Sent: 1, Once: 1})
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

// Replies to take and mark are lost, and both are asked again: nothing is taken
// or counted twice.
func TestLostReplies(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 5)
		take(t, o, holder(1), 2)
		client.AddHook(new(deaf))
		p := take(t, o, holder(2), 3)
		mark(t, o, holder(2), p[0].Sent(0), p[1].Sent(0), p[2].Sent(0))
		for id, sends := range map[string]int{"m-00": 2, "m-01": 2, "m-02": 1} {
			var r sms.Record
			await(t, func() bool {
				var err error
				r, err = o.Get(t.Context(), id)
				return err == nil
			})
			if r.State != sms.Sent || r.Sends != sends || r.Attempts != sends {
				t.Errorf("%s is %s after %d attempts and %d sends, want sent, %d, %d", id, r.State, r.Attempts, r.Sends, sends, sends)
			}
		}
	})
}

// The store is away for a moment while a run marks: the run asks again.
func TestMarkOutlastsARestart(t *testing.T) {
	server := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	o := outbox(t, connect(t, &redis.Options{Addr: server.Addr()}))
	fill(t, o, 1)
	p := take(t, o, holder(1), 1)
	server.Kill()
	marked := make(chan error)
	go func() { marked <- o.Mark(t.Context(), holder(1), p[0].Sent(0)) }()
	server.Restart()
	if err := <-marked; err != nil {
		t.Fatal(err)
	}
	wantCounts(t, outbox(t, connect(t, &redis.Options{Addr: server.Addr()})), sms.Counts{Sent: 1, Once: 1})
}

// The store never answers: take gives up when its context ends, and says why.
func TestTakeEndsWithItsContext(t *testing.T) {
	o := outbox(t, connect(t, &redis.Options{Addr: "127.0.0.1:1"}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Take(ctx, holder(1), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Take = %v, want context.Canceled", err)
	}
}
