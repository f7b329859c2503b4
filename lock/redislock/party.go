package redislock

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A party are passengers of a flight whom one run of a script serves. It is given
// their keys one after the other, the first argument of each, and the terms that
// those who ask for a lock have in common. See readMany for what it returns.
type party struct {
	script  *redis.Script
	asks    asks
	members []*passenger
	request *request
	asked   *redis.Cmd
}

// split sorts a crew into parties, if there may be any, and those who travel alone.
func split(crew []*passenger, sharing bool) (parties []party, singles []*passenger) {
	for _, p := range crew {
		if p.many == nil || !sharing {
			singles = append(singles, p)
			continue
		}
		i := slices.IndexFunc(parties, func(of party) bool { return of.script == p.many && of.asks.ttl == p.request.asks.ttl })
		if i < 0 {
			i = len(parties)
			parties = append(parties, party{script: p.many, asks: p.request.asks, members: make([]*passenger, 0, len(crew)), request: requestOf(nil)})
		}
		parties[i].join(p)
	}
	for i := range parties {
		parties[i].close()
	}
	return parties, singles
}

func (p *party) join(member *passenger) {
	p.members = append(p.members, member)
	p.request.keys.join(member.request.keys)
	p.request.args.join(member.request.args.first())
	p.request.once = p.request.once || member.request.once
	p.asks.seen = max(p.asks.seen, member.request.asks.seen)
}

// close tells that nobody joins any more.
func (p *party) close() {
	if p.asks.ttl > 0 {
		p.request.number(p.asks.ttl, p.asks.seen)
	}
}

// land tells the members their answers and returns those who need a run of their
// own: also all of them, if the server would not run this script for them. One that
// refuses keys of two slots would refuse the next party too: there is none.
func (p *party) land(ctx context.Context, g *gather) (rest []*passenger) {
	reply, err := p.asked.Result()
	if unknown(err) {
		reply, err = p.request.whole(ctx, g.client, p.script)
	}
	p.request.free()
	if err != nil && redis.HasErrorPrefix(err, "CROSSSLOT") {
		g.slots.Store(true)
	}
	if _, refused := errors.AsType[redis.Error](err); refused {
		return p.members
	}
	var answers []any
	if err == nil {
		answers, err = readMany(reply, len(p.members))
	}
	for i, member := range p.members {
		switch {
		case err != nil:
			member.land(nil, err)
		case answers[i] != nil:
			member.land(answers[i], nil)
		default:
			rest = append(rest, member)
		}
	}
	return rest
}

// readMany reads n|letters, then |ms for each 0 among them: what the script of each
// would return. For + that is n, for 0 that another owner has the lock for so long;
// - is nil: nobody knows yet.
func readMany(reply any, members int) ([]any, error) {
	text, _ := reply.(string)
	parts := strings.Split(text, "|")
	n, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || len(parts) < 2 || len(parts[1]) != members || len(parts) != 2+strings.Count(parts[1], "0") {
		return nil, unreadable("many", reply)
	}
	letters, left := parts[1], parts[2:]
	answers, yes := make([]any, members), any(n)
	for i := range answers {
		switch letters[i] {
		case '+':
			answers[i] = yes
		case '0':
			ms, err := strconv.ParseInt(left[0], 10, 64)
			if err != nil {
				return nil, unreadable("many", reply)
			}
			answers[i], left = []any{int64(0), "0", ms}, left[1:]
		case '-':
		default:
			return nil, unreadable("many", reply)
		}
	}
	return answers, nil
}
