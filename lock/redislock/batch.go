package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
)

// maxBatch is how many requests one script serves: it keeps the server from
// everyone else meanwhile.
const maxBatch = 200

// A request is what one run of a script is given.
type request struct {
	prefix string // of the shard's keys
	keys   []string
	args   []any
	last   terms // of the latest claim
	packed any   // the same as text
}

func (r *request) key(names ...string) {
	for _, name := range names {
		r.keys = append(r.keys, r.prefix+name)
	}
}

func (r *request) arg(values ...any) { r.args = append(r.args, values...) }

// An operation asks one script for many things of one kind.
type operation[Q, A any] struct {
	name   string
	script func(*scripts) *redis.Script
	key    func(*Q) string
	check  func(*Q) error
	begin  func(*Driver, *request)                     // what comes before the questions
	add    func(*request, string, *Q)                  // one question, and its name in keys
	read   func(now int64, s string, q *Q) (A, bool)   // one answer
	doubt  func(q *Q, err error) A                     // an answer that did not come
	rest   func(context.Context, *Driver, int, string) // what follows the answers, if something does
}

// A part is what one script is asked: the questions' places, all of one shard.
type part struct {
	shard int
	at    []int
}

// ask answers all questions, in order: those of one shard share a script, and
// the scripts run side by side.
func (op *operation[Q, A]) ask(ctx context.Context, d *Driver, qs []Q) []A {
	answers := make([]A, len(qs))
	sideBySide(op.split(d, qs, answers), func(p part) { op.serve(ctx, d, p, qs, answers) })
	return answers
}

// sideBySide serves all parts at the same time.
func sideBySide(parts []part, serve func(part)) {
	if len(parts) == 1 {
		serve(parts[0])
		return
	}
	var wg sync.WaitGroup
	for _, p := range parts {
		wg.Go(func() { serve(p) })
	}
	wg.Wait()
}

// split sorts questions into parts and answers those that cannot be asked.
func (op *operation[Q, A]) split(d *Driver, qs []Q, answers []A) []part {
	var parts []part
	filling := make([]int, len(d.keys.shards)) // 1 + the shard's latest part
	for i := range qs {
		if err := op.check(&qs[i]); err != nil {
			answers[i] = op.doubt(&qs[i], err)
			continue
		}
		shard := d.keys.shard(op.key(&qs[i]))
		at := filling[shard] - 1
		if at < 0 || len(parts[at].at) == maxBatch {
			at = len(parts)
			parts = append(parts, part{shard: shard, at: make([]int, 0, min(maxBatch, len(qs)-i))})
			filling[shard] = at + 1
		}
		parts[at].at = append(parts[at].at, i)
	}
	return parts
}

func (op *operation[Q, A]) serve(ctx context.Context, d *Driver, p part, qs []Q, answers []A) {
	texts, err := d.texts(ctx, op.script(d.scripts), op.request(d, p, qs))
	var now int64
	if err == nil {
		now, err = op.shape(texts, len(p.at))
	}
	if err != nil {
		err = fmt.Errorf("redislock: %s: %w", op.name, err)
	}
	for k, i := range p.at {
		if err != nil {
			answers[i] = op.doubt(&qs[i], err)
			continue
		}
		answers[i] = op.answer(now, texts[1+k], &qs[i])
	}
	if err == nil && op.rest != nil {
		op.rest(ctx, d, p.shard, texts[len(texts)-1])
	}
}

// request is what the script of a part is given.
func (op *operation[Q, A]) request(d *Driver, p part, qs []Q) *request {
	r := request{
		prefix: d.keys.shards[p.shard],
		keys:   make([]string, 0, 3+3*len(p.at)),
		args:   make([]any, 0, 2+7*len(p.at)),
	}
	op.begin(d, &r)
	for _, i := range p.at {
		op.add(&r, escape(op.key(&qs[i])), &qs[i])
	}
	return &r
}

// shape checks a reply as a whole and returns the store's clock.
func (op *operation[Q, A]) shape(texts []string, n int) (int64, error) {
	want := 1 + n
	if op.rest != nil {
		want++
	}
	if len(texts) != want {
		return 0, fmt.Errorf("%w: %d parts, want %d", errUnreadable, len(texts), want)
	}
	return readClock(texts[0])
}

func readClock(text string) (int64, error) {
	now, err := strconv.ParseInt(text, 10, 64)
	if err != nil || now <= 0 {
		return 0, fmt.Errorf("%w: the clock says %.40q", errUnreadable, text)
	}
	return now, nil
}

func (op *operation[Q, A]) answer(now int64, text string, q *Q) A {
	if len(text) > 0 && text[0] == '!' {
		return op.doubt(q, fmt.Errorf("redislock: %s %q: %w", op.name, op.key(q), errors.New(text[1:])))
	}
	a, ok := op.read(now, text, q)
	if !ok {
		return op.doubt(q, unreadable(op.name, text))
	}
	return a
}

// texts runs a script that returns texts.
func (d *Driver) texts(ctx context.Context, s *redis.Script, r *request) ([]string, error) {
	reply, err := d.run(ctx, s, r.keys, r.args)
	if err != nil {
		return nil, err
	}
	texts, ok := readTexts(reply)
	if !ok {
		return nil, fmt.Errorf("%w: %.80q", errUnreadable, fmt.Sprint(reply))
	}
	return texts, nil
}

// readTexts reads a reply that is a list of texts.
func readTexts(reply any) ([]string, bool) {
	parts, ok := reply.([]any)
	texts := make([]string, len(parts))
	for i := 0; ok && i < len(parts); i++ {
		texts[i], ok = parts[i].(string)
	}
	return texts, ok
}
