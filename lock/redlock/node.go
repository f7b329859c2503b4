package redlock

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// A node is one of the servers.
type node struct {
	client *redis.Client
	base   context.Context // ends with the Driver

	mu       sync.Mutex
	pending  []release // releases to be sent, oldest first
	sweeping bool      // a goroutine sends them
	closed   bool
	late     map[lease]*lateLease
}

func (n *node) addr() string { return n.client.Options().Addr }

//go:embed lua
var sources embed.FS

// The operations. Parameters are passed only through KEYS and ARGV.
var (
	acquireScript = load("vote", "asked", "state", "acquire")
	putScript     = load("asked", "state", "put")
	renewScript   = load("asked", "state", "renew")
	releaseScript = load("back", "state", "release")
)

// load makes one script from several files.
func load(names ...string) *redis.Script {
	var whole strings.Builder
	for _, name := range names {
		src, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a built-in file is missing
		}
		whole.Write(src)
	}
	return redis.NewScript(whole.String())
}

// The codes of an answer.
const (
	no  = 0 // another owner has the key; for a renewal: not alive
	yes = 1
	odd = 2 // acquire: undone before it came; release: the owner's lease has another fence
	was = 3 // release: free before, and as far as is known not by this owner
)

// An answer is the reply of one server. If err is not nil, the result is unknown: the server may
// have carried the request out, or may do so later.
type answer struct {
	code  int64
	fence int64         // for yes
	about string        // for no: "fence|owner" of the holder
	left  time.Duration // until the deadline; it counts from the sending of the request or later
	err   error
}

// A request is one operation on one key, or a request for the time. All servers that get it share
// it.
type request struct {
	script *redis.Script // nil: a command
	args   []any         // of the command, or of EVALSHA
	means  answer        // the answer that a bare yes stands for
	frees  lease         // the lease that it takes back; zero: none
}

// The indexes of the keys and of the script's arguments among the arguments of EVALSHA.
const (
	keysAt = 3
	argsAt = 5
)

func (d *Driver) request(s *redis.Script, key string, more ...any) request {
	keys := d.keys(key)
	args := make([]any, 0, argsAt+len(more))
	args = append(args, "evalsha", s.Hash(), len(keys), keys[0], keys[1])
	return request{script: s, args: append(args, more...)}
}

// give returns a request of a script that gives or keeps a lease. A bare yes stands for the fence
// and TTL of the request, so that the server need not write them and the driver need not read them.
func (d *Driver) give(s *redis.Script, key, owner string, attempt int64, ttl time.Duration, fence int64) request {
	memory := d.options.FenceMemory.Milliseconds()
	value := make([]byte, 0, 64+len(owner))
	value = append(value, digits(fence)...)
	value = strconv.AppendInt(append(value, '|'), attempt, 10)
	value = strconv.AppendInt(append(value, '|'), memory, 10)
	value = append(append(value, '|'), owner...)
	r := d.request(s, key, string(value), ttl.Milliseconds()+memory)
	r.means = answer{fence: fence, left: ttl.Truncate(time.Millisecond)}
	return r
}

// takeBack returns a request that frees an owner's lease with a fence; 0: with any fence. The owner
// has proposed no fence above most.
func (d *Driver) takeBack(key, owner string, attempt, fence, most int64) request {
	asked := "0"
	if fence != 0 {
		asked = digits(fence)
	}
	r := d.request(releaseScript, key, asked, attempt, d.options.FenceMemory.Milliseconds(), owner, digits(most))
	r.frees = lease{key, owner}
	return r
}

// digits returns a fence as servers store it: with 16 digits, so that texts compare like numbers.
func digits(fence int64) string {
	text := strconv.FormatInt(fence, 10)
	return "0000000000000000"[min(len(text), 16):] + text
}

// command returns the request as EVALSHA.
func (r *request) command(ctx context.Context) *redis.Cmd {
	cmd := redis.NewCmd(ctx, r.args...)
	if r.script != nil {
		cmd.SetFirstKeyPos(keysAt)
	}
	return cmd
}

// evaluate sends a request. If the server does not know the script, evaluate sends the script
// itself.
func (n *node) evaluate(ctx context.Context, r request) (any, error) {
	cmd := r.command(ctx)
	err := n.client.Process(ctx, cmd)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		keys := []string{r.args[keysAt].(string), r.args[keysAt+1].(string)}
		return r.script.Eval(ctx, n.client, keys, r.args[argsAt:]...).Result()
	}
	return cmd.Val(), err
}

// call sends a request to the server and reads its reply. A request that takes a lease back follows
// the late answers to the requests for it.
func (n *node) call(ctx context.Context, r request) answer {
	if err := n.settled(ctx, r.frees); err != nil {
		return n.read(&r, nil, err)
	}
	reply, err := n.evaluate(ctx, r)
	return n.read(&r, reply, err)
}

// read reads the server's reply to a request.
func (n *node) read(r *request, reply any, err error) answer {
	if err != nil {
		return answer{err: fmt.Errorf("%s: %w", n.addr(), err)}
	}
	a, ok := r.read(reply)
	if !ok {
		a.err = fmt.Errorf("%s: the reply %.100q cannot be read", n.addr(), fmt.Sprint(reply))
	}
	return a
}

// read reads a code, {code, text, ms}, or a time.
func (r *request) read(reply any) (answer, bool) {
	switch code, is := reply.(int64); {
	case is && code == yes:
		a := r.means
		a.code = yes
		return a, a.fence <= driver.MaxNumber
	case is:
		return answer{code: code}, code >= no && code <= was
	case r.script == nil:
		return readTime(reply)
	}
	parts, _ := reply.([]any)
	if len(parts) != 3 {
		return answer{}, false
	}
	code, ok1 := parts[0].(int64)
	text, ok2 := parts[1].(string)
	ms, ok3 := parts[2].(int64)
	if !ok1 || !ok2 || !ok3 || code < no || code > odd || ms < 0 || ms > maxLeft {
		return answer{}, false
	}
	a := answer{code: code, about: text, left: time.Duration(ms) * time.Millisecond}
	if code != yes {
		return a, true
	}
	fence, err := strconv.ParseInt(text, 10, 64)
	a.fence, a.about = fence, ""
	return a, err == nil && fence >= 0 && fence <= driver.MaxNumber
}

// maxLeft limits the time left that a server may report, in ms: the server's clock may have been
// put back, but no lease of this package lasts longer.
const maxLeft = int64(100 * 365 * 24 * time.Hour / time.Millisecond)
