package redislock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
)

// peek answers those claims of a part that are marked as Later and whose numbers
// are decided, and returns what is left. On each tick that is what all nodes but
// one ask, so it is made to cost little: nothing is encoded but the number, and
// no answer needs memory of its own.
func (d *Driver) peek(ctx context.Context, p part, cs []lock.Claim, answers []lock.Answer) (left part) {
	hinted, left := hints(p, cs)
	if len(hinted) == 0 {
		return p
	}
	now, lines, err := d.peeked(ctx, p.shard, hinted, cs)
	for _, i := range hinted {
		c := &cs[i]
		if err != nil {
			answers[i] = lock.Answer{Err: err}
			continue
		}
		var line string
		line, lines, _ = strings.Cut(lines, "\n")
		if line == "" || now > c.Latest {
			left.at = append(left.at, i)
			continue
		}
		answers[i] = claims.answer(now, line, c)
	}
	slices.Sort(left.at) // claims of one series are judged in their order
	return left
}

// hints parts the claims that may be peeked at from the others.
func hints(p part, cs []lock.Claim) (hinted []int, others part) {
	hint := func(i int) bool { return cs[i].Later && cs[i].From == 0 }
	others.shard, others.replicas, others.ttl = p.shard, p.replicas, p.ttl
	if !slices.ContainsFunc(p.at, hint) {
		return nil, p
	}
	hinted = make([]int, 0, len(p.at))
	for _, i := range p.at {
		if hint(i) {
			hinted = append(hinted, i)
		} else {
			others.at = append(others.at, i)
		}
	}
	return hinted, others
}

// peeked returns the store's clock and a line for each claim.
func (d *Driver) peeked(ctx context.Context, shard int, at []int, cs []lock.Claim) (now int64, lines string, err error) {
	reply, err := d.evaluate(ctx, d.scripts.peek, 1+len(at), d.peekArgs(shard, at, cs))
	text, ok := reply.(string)
	if err == nil && (!ok || strings.Count(text, "\n") != len(at)) {
		err = fmt.Errorf("%w: %.80q", errUnreadable, fmt.Sprint(reply))
	}
	clock, lines, _ := strings.Cut(text, "\n")
	if err == nil {
		now, err = readClock(clock)
	}
	if err != nil {
		return 0, "", fmt.Errorf("redislock: claim: %w", err)
	}
	return now, lines, nil
}

// peekArgs is what EVALSHA is given, its first three arguments left open.
func (d *Driver) peekArgs(shard int, at []int, cs []lock.Claim) []any {
	args := make([]any, shaArgs, shaArgs+1+2*len(at))
	args = append(args, d.keys.shards[shard]+"none")
	args = d.states.add(args, d.keys.shards[shard]+"s:", at, cs)
	first := cs[at[0]].Number
	if !slices.ContainsFunc(at, func(i int) bool { return cs[i].Number != first }) {
		return append(args, first)
	}
	for _, i := range at {
		args = append(args, cs[i].Number)
	}
	return args
}

// shaArgs are EVALSHA, the hash, and the number of keys.
const shaArgs = 3

// evaluate runs a script whose keys and arguments stand behind the first shaArgs
// places of args, without copying them. Where it is not known it is sent whole.
func (d *Driver) evaluate(ctx context.Context, s *redis.Script, keys int, args []any) (any, error) {
	args[0], args[1], args[2] = "evalsha", s.Hash(), keys
	return bounded(ctx, d.prompt, func() (any, error) {
		cmd := redis.NewCmd(ctx, args...)
		cmd.SetFirstKeyPos(shaArgs)
		err := d.client.Process(ctx, cmd)
		if !redis.HasErrorPrefix(err, "NOSCRIPT") {
			return cmd.Val(), err
		}
		names := make([]string, keys)
		for i := range names {
			names[i] = args[shaArgs+i].(string)
		}
		return s.Eval(ctx, d.client, names, args[shaArgs+keys:]...).Result()
	})
}

// maxNames is how many names are kept.
const maxNames = 1 << 16

// names are keys of series as arguments, kept so that they are not made for each
// request. The zero value is ready to use, by many at once.
type names struct {
	mu   sync.RWMutex
	keys map[string]any
	most int // how many are kept; zero: maxNames
}

// add appends the key of each claim.
func (n *names) add(args []any, prefix string, at []int, cs []lock.Claim) []any {
	complete := true
	n.mu.RLock()
	for _, i := range at {
		key, known := n.keys[cs[i].Key]
		complete = complete && known
		args = append(args, key)
	}
	n.mu.RUnlock()
	if !complete {
		n.learn(args[len(args)-len(at):], prefix, at, cs)
	}
	return args
}

// learn makes the keys that are missing. When too many are kept all are dropped.
func (n *names) learn(keys []any, prefix string, at []int, cs []lock.Claim) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.keys == nil || len(n.keys)+len(at) > cmp.Or(n.most, maxNames) {
		n.keys = make(map[string]any, len(at))
	}
	for k, i := range at {
		if keys[k] == nil {
			keys[k] = prefix + escape(cs[i].Key)
			n.keys[cs[i].Key] = keys[k]
		}
	}
}
