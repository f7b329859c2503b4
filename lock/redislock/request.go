package redislock

import (
	"fmt"
	"strconv"
	"sync"
)

// A request is what one run of a script is given: keys and arguments as texts
// that share their memory, because there are many, and short ones. It is for one
// goroutine.
type request struct {
	prefix string // of the shard's keys
	keys   texts
	args   texts
	asks   asks
	sent   []any    // EVALSHA and what follows it
	all    []string // what most of sent points to
	last   terms    // of the latest claim
	packed []byte   // the same as text
	once   bool     // the client must not send it again: see onceOnly
}

// asks are the terms of who asks for a lock, which its arguments are as well.
type asks struct{ ttl, seen int64 } // in ms; the highest fence that the asker has seen

// texts are many texts one after the other.
type texts struct {
	b    []byte
	ends []int
}

func (t *texts) end() { t.ends = append(t.ends, len(t.b)) }

// appendTo appends them each as a string of its own.
func (t *texts) appendTo(all []string) []string {
	text, from := string(t.b), 0
	for _, end := range t.ends {
		all = append(all, text[from:end])
		from = end
	}
	return all
}

// first is the first text alone.
func (t *texts) first() texts { return texts{t.b[:t.ends[0]], t.ends[:1]} }

// join appends the texts of another.
func (t *texts) join(o texts) {
	from := len(t.b)
	t.b = append(t.b, o.b...)
	for _, end := range o.ends {
		t.ends = append(t.ends, from+end)
	}
}

func (t *texts) clear() { t.b, t.ends = t.b[:0], t.ends[:0] }

var requests = sync.Pool{New: func() any { return new(request) }}

// newRequest returns an empty request for a shard.
func (d *Driver) newRequest(shard int) *request {
	r := requests.Get().(*request)
	r.prefix = d.keys.shards[shard]
	return r
}

// requestFor returns a request for a plain lock: its key and its queue's.
func (d *Driver) requestFor(key string) *request {
	r := requests.Get().(*request)
	r.lock(&d.keys, d.keys.plain, key)
	name := r.keys.b[len(d.keys.plain):]
	r.keys.b = append(append(r.keys.b, d.keys.queues...), name...)
	r.keys.end()
	return r
}

// requestOf returns a request with keys and arguments, which are texts and whole
// numbers.
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
			panic(fmt.Sprintf("redislock: an argument is a %T", arg)) // a mistake of this package
		}
	}
	return r
}

// free gives a request back that nobody uses any more.
func (r *request) free() {
	r.keys.clear()
	r.args.clear()
	clear(r.sent)
	clear(r.all)
	r.sent, r.all, r.last, r.packed, r.asks, r.once = r.sent[:0], r.all[:0], terms{}, r.packed[:0], asks{}, false
	requests.Put(r)
}

// key adds the shard's key of a kind, for a series or alone.
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

// text adds arguments that are sent as they are.
func (r *request) text(values ...string) {
	for _, v := range values {
		r.args.b = append(r.args.b, v...)
		r.args.end()
	}
}

// escaped adds arguments that were given from outside.
func (r *request) escaped(values ...string) {
	for _, v := range values {
		r.args.b = appendEscaped(r.args.b, v)
		r.args.end()
	}
}

// holder adds what a lock is while an owner has it.
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

// shaArgs are EVALSHA, the hash, and the number of keys.
const shaArgs = 3

// box makes what EVALSHA is given, its first places left open.
func (r *request) box() {
	r.all = r.args.appendTo(r.keys.appendTo(r.all[:0]))
	r.sent = append(r.sent[:0], nil, nil, nil)
	for i := range r.all {
		r.sent = append(r.sent, &r.all[i]) // a pointer needs no memory of its own
	}
}

// boxed are the keys, and the arguments, of a request that was boxed.
func (r *request) boxed() (keys []string, args []any) {
	n := len(r.keys.ends)
	return r.all[:n], r.sent[shaArgs+n:]
}
