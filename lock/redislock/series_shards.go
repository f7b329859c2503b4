package redislock

import (
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// MostShards implements [series.Sharder].
func (d *Driver) MostShards() int { return series.MaxShards }

// named adds the number of a run, or number*index*shards of a shard.
func (r *request) named(ref *series.RunRef) {
	b := strconv.AppendInt(r.args.b, ref.Number, 10)
	if ref.Shards > 0 {
		b = strconv.AppendInt(append(b, '*'), int64(ref.Shard), 10)
		b = strconv.AppendInt(append(b, '*'), int64(ref.Shards), 10)
	}
	r.args.b = b
	r.args.end()
}

// appendSharding appends |shards|mode|most|want,want|params, each of these with a ; behind it: see sheet.lua.
func appendSharding(b []byte, h *series.Sharding) []byte {
	b = strconv.AppendInt(append(b, '|'), int64(h.Shards), 10)
	b = append(b, '|', mode(h.FailAll, h.Broadcast), '|')
	b = append(strconv.AppendInt(b, int64(h.Most), 10), '|')
	for i, n := range h.Want {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	b = append(b, '|')
	for _, p := range h.Params {
		b = append(appendEscaped(b, p), ';')
	}
	return b
}

// readCount reads how many shards a run has.
func readCount(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && 1 <= n && n <= series.MaxShards
}

// readShares reads shards|free|left#shard,fence,attempt,left,param;...#sum. Everything may be 0 or empty but
// not all of it. A grant must be right in every part.
func readShares(a *series.Answer, text string, at instant) bool {
	head, rest, _ := strings.Cut(text, "#")
	grants, sum, more := strings.Cut(rest, "#")
	f := fields{rest: head}
	of, free := int(f.count(f.text())), int(f.count(f.text()))
	a.Of, a.Free = max(a.Of, of), free
	if left := f.count(f.end()); a.Of > 0 {
		a.Left = time.Duration(left) * time.Millisecond
	}
	ok := more && !f.bad
	if grants != "" {
		for one := range strings.SplitSeq(grants, ";") {
			g, good := readGrant(one, at)
			ok = ok && good && g.Shard < a.Of
			a.Shards = append(a.Shards, g)
		}
	}
	if sum != "" {
		var good bool
		a.Sum, good = readSum(sum)
		ok = ok && good
	}
	return ok && (len(a.Shards) == 0 || a.Kind == series.KindGranted) // a repeated claim may have had more than it takes now
}

// readGrant reads shard,fence,attempt,left,param.
func readGrant(text string, at instant) (series.ShardGrant, bool) {
	f := fields{rest: strings.ReplaceAll(text, ",", "|")}
	g := series.ShardGrant{Shard: int(f.count(f.text())), Fence: f.count(f.text()), Attempt: int(f.count(f.text()))}
	g.Left = time.Duration(f.count(f.text())) * time.Millisecond
	g.Param = f.raw(f.end())
	return g, !f.bad && g.Fence > 0 && g.Attempt > 0 && g.Left > 0 && driver.CheckFence(g.Fence, int64(at)) == nil
}

// readSum reads number|fence|outcome|shards|ok|failed|lost|missed|cancelled|ms.
func readSum(text string) (*series.Sum, bool) {
	f := fields{rest: text}
	s := &series.Sum{Number: f.count(f.text()), Fence: f.count(f.text()), Outcome: f.raw(f.text())}
	for _, n := range []*int{&s.Shards, &s.OK, &s.Failed, &s.Lost, &s.Missed, &s.Cancelled} {
		*n = int(f.count(f.text()))
	}
	s.Took = time.Duration(f.number(f.end())) * time.Millisecond
	return s, !f.bad && s.OK+s.Failed+s.Lost+s.Missed+s.Cancelled == s.Shards
}

// mode is 1 if the number fails only if no shard was ok, plus 2 in a broadcast.
func mode(failAll, broadcast bool) byte {
	m := flag(failAll)
	if broadcast {
		m += 2
	}
	return m
}

// readSheet reads mode+parameters, each with a ; behind it, then +shard for each shard.
func readSheet(text string) (series.Sheet, bool) {
	parts := strings.Split(text, "+")
	if len(parts) < 3 || len(parts) > 2+series.MaxShards {
		return series.Sheet{}, false
	}
	var f fields
	s := series.Sheet{Shards: make([]series.Shard, len(parts)-2)}
	s.FailAll, s.Broadcast = parts[0] == "1" || parts[0] == "3", parts[0] == "2" || parts[0] == "3"
	for p := range strings.SplitAfterSeq(parts[1], ";") {
		if p, whole := strings.CutSuffix(p, ";"); whole {
			s.Params = append(s.Params, f.raw(p))
		}
	}
	for i, part := range parts[2:] {
		if part != "" && !readShard(&s.Shards[i], part) {
			return series.Sheet{}, false
		}
	}
	return s, !f.bad && (!s.Broadcast || len(s.Params) == len(s.Shards))
}

// readShard reads state|owner|fence|attempt|granted|until|ended|outcome|ok|error, and also the format of older nodes, without the error.
func readShard(h *series.Shard, text string) bool {
	f := fields{rest: text}
	h.State = states[f.letter(f.text())]
	h.Owner, h.Fence, h.Attempt = f.raw(f.text()), f.count(f.text()), int(f.count(f.text()))
	h.Granted, h.Until, h.Ended = f.count(f.text()), f.count(f.text()), f.count(f.text())
	h.Outcome = f.raw(f.text())
	ok, why, _ := strings.Cut(f.rest, "|")
	h.OK, h.Error = f.letter(ok) == '1', f.raw(f.raw(why))
	return !f.bad && h.State != series.RunNone
}
