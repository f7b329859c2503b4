package redislock

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A batch is what was sent, or is about to be sent, together: calls that were taken off
// the queue, or one request that its own goroutine sends, which has no call.
type batch struct {
	calls []*call
	began time.Time
	late  bool // it no longer counts: see lateAfter
}

// A command is one EVALSHA of a batch. It serves one call, or all calls of the batch whose
// script joins: such a script is given the first key of each call, then the second of each,
// the arguments of one call after the other, and returns a list with a reply for each.
type command struct {
	calls   []*call
	script  *script
	request *request // that of the only call, or of all of them
	whole   bool     // the server does not know the script: it is sent with its source
	cmd     *redis.Cmd
}

// commands returns what is to be sent for some calls. Those of a script that joins share
// a command unless they have to stay apart.
func commands(calls []*call, apart bool) []*command {
	var all []*command
	for _, c := range calls {
		i := -1
		if c.script.joins && !apart {
			i = slices.IndexFunc(all, func(other *command) bool { return other.script == c.script })
		}
		if i < 0 {
			all = append(all, &command{script: c.script})
			i = len(all) - 1
		}
		all[i].calls = append(all[i].calls, c)
	}
	for _, m := range all {
		m.request = m.calls[0].request
		if len(m.calls) > 1 {
			m.request = joined(m.calls)
		}
	}
	return all
}

// joined is the request of all these calls.
func joined(calls []*call) *request {
	r := requests.Get().(*request)
	for k := range calls[0].request.keys.ends {
		for _, c := range calls {
			r.keys.b = append(r.keys.b, c.request.keys.at(k)...)
			r.keys.end()
		}
	}
	for _, c := range calls {
		r.args.join(c.request.args)
		r.once = r.once || c.request.once
	}
	return r
}

// send sends a batch and completes its calls. Its context is that of no caller: a caller may
// return before its call completes.
func (p *pipeline) send(b *batch) {
	ctx, stop := context.WithTimeout(context.Background(), p.limit)
	defer stop()
	todo := commands(b.calls, p.apart.Load())
	for len(todo) > 0 {
		todo = p.exec(ctx, todo)
	}
}

// exec sends commands in one round trip, completes the calls of those that have an answer,
// and returns what is to be sent again, in another form.
func (p *pipeline) exec(ctx context.Context, all []*command) (again []*command) {
	pipe := p.client.Pipeline()
	for _, m := range all {
		m.cmd = m.request.command(ctx, m.script, m.whole)
		_ = pipe.Process(ctx, m.request.sendable(m.cmd)) // Exec sends it
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for _, m := range all {
		switch err := m.cmd.Err(); {
		case unknown(err) && !m.whole:
			m.whole = true
			again = append(again, m)
		case len(m.calls) > 1 && redis.HasErrorPrefix(err, "CROSSSLOT"):
			p.apart.Store(true)
			again = append(again, commands(m.calls, true)...)
		default:
			m.complete()
		}
	}
	return again
}

// complete gives each call its reply.
func (m *command) complete() {
	replies, err := m.replies()
	for i, c := range m.calls {
		if err != nil {
			c.err = err
		} else {
			c.reply, c.err = answered(replies[i])
		}
		close(c.done)
	}
	if len(m.calls) > 1 {
		m.request.free()
	}
}

// replies returns the reply to each call.
func (m *command) replies() ([]any, error) {
	reply, err := m.cmd.Result()
	if err != nil || !m.script.joins {
		return []any{reply}, err
	}
	return readReplies(reply, len(m.calls))
}

// readReplies reads the reply of a script that joins to so many calls.
func readReplies(reply any, calls int) ([]any, error) {
	replies, _ := reply.([]any)
	if len(replies) != calls {
		return nil, unreadable("batch", reply)
	}
	return replies, nil
}

// answered is a reply to one call. A text that begins with ! is an error.
func answered(reply any) (any, error) {
	if text, is := reply.(string); is && strings.HasPrefix(text, "!") {
		return nil, replyError(text[1:])
	}
	return reply, nil
}

// A replyError is an error of the server about one call of several.
type replyError string

func (e replyError) Error() string { return string(e) }

// RedisError makes it a redis.Error.
func (replyError) RedisError() {}
