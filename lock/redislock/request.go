package redislock

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// A request is the keys and the arguments of one run of a script. They are texts that share their
// memory, because there are many short ones. A request is not safe for concurrent use.
type request struct {
	prefix string // the beginning of the partition's keys
	keys   texts
	args   texts
	all    []string // keys and arguments as separate strings
	sent   []any    // EVALSHA and its arguments: pointers to all
	last   terms    // the terms of the latest claim
	packed []byte   // last as text
	once   bool     // the client must not repeat it: see onceOnly
}

// texts are many texts in one slice, one after the other.
type texts struct {
	b    []byte
	ends []int
}

func (t *texts) end() { t.ends = append(t.ends, len(t.b)) }

// appendTo appends each text as a string.
func (t *texts) appendTo(all []string) []string {
	text, from := string(t.b), 0
	for _, end := range t.ends {
		all = append(all, text[from:end])
		from = end
	}
	return all
}

func (t *texts) clear() { t.b, t.ends = t.b[:0], t.ends[:0] }

// at returns the text with index i.
func (t *texts) at(i int) []byte {
	if i == 0 {
		return t.b[:t.ends[0]]
	}
	return t.b[t.ends[i-1]:t.ends[i]]
}

// join appends all texts of o.
func (t *texts) join(o texts) {
	from := len(t.b)
	t.b = append(t.b, o.b...)
	for _, end := range o.ends {
		t.ends = append(t.ends, from+end)
	}
}

var requests = sync.Pool{New: func() any { return new(request) }}

// free returns a request to the pool. The caller must not use it afterwards.
func (r *request) free() {
	r.keys.clear()
	r.args.clear()
	clear(r.all)
	clear(r.sent)
	r.last, r.packed, r.once = terms{}, r.packed[:0], false
	requests.Put(r)
}

// newRequest returns an empty request for a partition.
func (d *Driver) newRequest(partition int) *request {
	r := requests.Get().(*request)
	r.prefix = d.keys.partitions[partition]
	return r
}

// requestFor returns a request for a plain lock, with its key and the key of its queue.
func (d *Driver) requestFor(key string) *request {
	r := requests.Get().(*request)
	r.lock(&d.keys, d.keys.plain, key)
	name := r.keys.b[len(d.keys.plain):]
	r.keys.b = append(append(r.keys.b, d.keys.queues...), name...)
	r.keys.end()
	return r
}

// firstKey returns the key that decides which server gets the request.
func (r *request) firstKey() string { return string(r.keys.at(0)) }

// requestOf returns a request with keys and arguments, which are texts and whole numbers.
func requestOf(keys []string, args ...any) *request {
	r := requests.Get().(*request)
	for _, key := range keys {
		r.keys.b = append(r.keys.b, key...)
		r.keys.end()
	}
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			r.text(v)
		case int64:
			r.number(v)
		case int:
			r.number(int64(v))
		default:
			panic(fmt.Sprintf("redislock: an argument is a %T", arg)) // a bug of this package
		}
	}
	return r
}

// key adds the partition's key of a kind, for a series or alone.
func (r *request) key(kind, name string) {
	r.keys.b = append(append(append(r.keys.b, r.prefix...), kind...), name...)
	r.keys.end()
}

// lock adds a key of a plain lock, see layout.named.
func (r *request) lock(l *layout, prefix, key string) {
	n := l.grouped(key)
	b := appendEscaped(append(r.keys.b, prefix...), key[:n])
	r.keys.b = appendEscaped(append(b, '}'), key[n:])
	r.keys.end()
}

// text adds arguments that are sent unchanged.
func (r *request) text(values ...string) {
	for _, v := range values {
		r.args.b = append(r.args.b, v...)
		r.args.end()
	}
}

// escaped adds arguments that come from callers.
func (r *request) escaped(values ...string) {
	for _, v := range values {
		r.args.b = appendEscaped(r.args.b, v)
		r.args.end()
	}
}

// holder adds the value of a lock that an owner has.
func (r *request) holder(fence int64, owner string) {
	r.args.b = append(append(strconv.AppendInt(r.args.b, fence, 10), '|'), owner...)
	r.args.end()
}

func (r *request) number(values ...int64) {
	for _, n := range values {
		r.args.b = strconv.AppendInt(r.args.b, n, 10)
		r.args.end()
	}
}

// fixedArgs is how many arguments of EVALSHA come before the keys: its name, the hash, and the
// number of keys.
const fixedArgs = 3

// command returns the request as EVALSHA, or as EVAL with the whole script.
func (r *request) command(ctx context.Context, s *script, whole bool) *redis.Cmd {
	name, text := "evalsha", s.hash
	if whole {
		name, text = "eval", s.source
	}
	r.all = r.args.appendTo(r.keys.appendTo(r.all[:0]))
	r.sent = append(r.sent[:0], name, text, len(r.keys.ends))
	for i := range r.all {
		r.sent = append(r.sent, &r.all[i]) // a pointer is stored in the interface, and needs no memory of its own
	}
	cmd := redis.NewCmd(ctx, r.sent...)
	cmd.SetFirstKeyPos(fixedArgs)
	return cmd
}

// sendable returns the command in the form for the client.
func (r *request) sendable(cmd *redis.Cmd) redis.Cmder {
	if r.once {
		return onceOnly{cmd}
	}
	return cmd
}

// onceOnly is a command that a client for a Cluster does not repeat when a connection breaks. The
// release of a lock is such a command: the answer to a repetition is that another owner may have
// the lock, and only a caller that knows of the first request knows that nothing was lost.
type onceOnly struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (onceOnly) NoRetry() bool { return true }

// evaluate runs a script for one request, alone. If the server does not know the script, it is sent
// with its source.
func evaluate(ctx context.Context, client redis.UniversalClient, s *script, r *request) (any, error) {
	cmd := r.command(ctx, s, false)
	err := client.Process(ctx, r.sendable(cmd))
	if unknown(err) {
		cmd = r.command(ctx, s, true)
		err = client.Process(ctx, r.sendable(cmd))
	}
	if err != nil {
		return nil, err
	}
	return s.only(cmd.Val())
}

// only returns the reply to the only call of a run.
func (s *script) only(reply any) (any, error) {
	if !s.joins {
		return reply, nil
	}
	replies, err := readReplies(reply, 1)
	if err != nil {
		return nil, err
	}
	return answered(replies[0])
}

// unknown reports whether err is that the server does not know the script.
func unknown(err error) bool { return err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") }

//go:embed lua
var sources embed.FS

// A script runs on the server. Parameters are passed only as KEYS and ARGV.
type script struct {
	source string
	hash   string // by which the server finds it
	joins  bool   // one run serves many calls: see [batch]
}

// scripts are the operations, each with the name of its file.
type scripts struct {
	acquire, wait, renew, release                   *script
	sharedAcquire, sharedRenew, sharedRelease       *script
	force, forcings, why, inspect                   *script
	open, claim, peek, readSeries, control, recount *script
	renewRuns, releaseRuns, keepOutput              *script
	beat, members, changes                          *script
	now, agree, touch, unknown                      *script
}

// embedded are the scripts, made when the first driver is: a program that uses no Redis does not wait for them.
var embedded = sync.OnceValue(func() *scripts {
	return load(func(name string) string {
		src, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // an embedded file is missing
		}
		return string(src)
	})
})

// load makes the scripts from their files.
func load(source func(name string) string) *scripts {
	made := func(text string) *script {
		sum := sha1.Sum([]byte(text))
		return &script{source: text, hash: hex.EncodeToString(sum[:])}
	}
	read := func(name string) *script { return made(include(source, name)) }
	joining := func(name string) *script {
		s := read(name)
		s.joins = true
		return s
	}
	// Lua 5.1 makes the functions of a script anew in each call. For each variable around a function that it uses, luaF_findupval
	// walks through a list of all such variables, unless the function around it has the variable from outside: the
	// names that most functions use are outside.
	step := func(name string) *script {
		return made(include(source, "base") + "local function step()\n" + include(source, name) + "end\nreturn step()")
	}
	return &scripts{
		acquire:       joining("acquire"),
		wait:          read("wait"),
		renew:         joining("renew"),
		release:       joining("release"),
		sharedAcquire: read("shared_acquire"),
		sharedRenew:   read("shared_renew"),
		sharedRelease: read("shared_release"),
		force:         read("force"),
		forcings:      read("forcings"),
		why:           read("why"),
		inspect:       read("inspect"),
		open:          step("open"),
		claim:         step("claim"),
		peek:          step("peek"),
		readSeries:    step("read_series"),
		control:       step("control"),
		recount:       read("recount"),
		renewRuns:     step("renew_runs"),
		releaseRuns:   step("release_runs"),
		keepOutput:    read("keep_output"),
		beat:          read("beat"),
		members:       read("members"),
		changes:       read("changes"),
		now:           read("now"),
		agree:         read("agree"),
		touch:         read("touch"),
		unknown:       read("unknown"),
	}
}

// include returns the text of a file, in which other files replace the lines that name them.
func include(source func(name string) string, name string) string {
	var text strings.Builder
	for line := range strings.Lines(source(name)) {
		if file, ok := strings.CutPrefix(line, "-- include: "); ok {
			line = include(source, strings.TrimSuffix(file, ".lua\n")) + "\n"
		}
		text.WriteString(line)
	}
	return text.String()
}
