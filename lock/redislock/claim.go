package redislock

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var claims = operation[driver.Claim, driver.Answer]{
	name:   "claim",
	script: func(s *scripts) *script { return s.claim },
	key:    func(c *driver.Claim) string { return c.Key },
	check:  driver.CheckClaim,
	begin:  beginVerdicts,
	add: func(r *request, name string, c *driver.Claim) {
		r.key("s:", name)
		r.key("j:", name)
		between := ""
		if c.Between > 0 {
			between = "m"
		}
		r.escaped(c.Owner)
		r.number(c.Number, c.After, c.From, c.Fence)
		r.escaped(between, c.Revision)
		r.terms(c)
	},
	read:  readAnswer,
	doubt: func(_ *driver.Claim, err error) driver.Answer { return driver.Answer{Err: err} },
	want:  func(c *driver.Claim) (int, time.Duration) { return c.Replicas, c.TTL },
}

// Claim asks for numbers, up to 200 of one shard with one script. An answer with
// Err is doubt, except for a *lock.ArgumentError: then nothing was sent. Unknown
// without Err says that the series is not open.
func (d *Driver) Claim(ctx context.Context, cs []driver.Claim) []driver.Answer {
	answers := make([]driver.Answer, len(cs))
	sideBySide(claims.split(d, cs, answers), func(p part) {
		s := claims.serve(ctx, d, p, cs, answers)
		d.undoShort(ctx, p, cs, answers, &s)
	})
	return answers
}

// undoShort turns the grants that too few replicas have into doubt, and ends them
// as never started: anyone may have those numbers again.
func (d *Driver) undoShort(ctx context.Context, p part, cs []driver.Claim, answers []driver.Answer, s *outcome) {
	if s.acked >= p.replicas {
		return
	}
	var undone []driver.EndRequest
	for _, i := range p.at {
		a, c := &answers[i], &cs[i]
		if a.Kind != driver.KindGranted {
			continue
		}
		undone = append(undone, driver.EndRequest{Kind: driver.EndUnstarted, RunRef: driver.RunRef{Key: c.Key, Number: c.Number, Owner: c.Owner, Fence: a.Fence}})
		a.Kind, a.Err = driver.KindUnknown, fmt.Errorf("redislock: claim: %w", s.short(c.Key, c.Replicas))
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer stop()
	d.ReleaseRuns(ctx, undone) // their deadline ends them otherwise
}

// beginVerdicts is what the scripts that write verdicts are given first.
func beginVerdicts(d *Driver, r *request) {
	r.key("none", "")
	r.key("jb", "")
	r.text(d.lines, d.bytes)
}

// terms are what many claims share.
type terms struct {
	ttl, deadline, window int64
	late, node            string
	attempts              int
	rerun, backlog        bool
	overlap               driver.Overlap
	latest                int64
}

func termsOf(c *driver.Claim) terms {
	t := terms{
		ttl: c.TTL.Milliseconds(), deadline: c.Deadline.Milliseconds(), window: c.Window.Milliseconds(),
		late: c.Late, node: driver.NodeOf(c.Owner), attempts: c.Attempts, rerun: c.Rerun, backlog: c.Backlog,
		overlap: c.Overlap, latest: c.Latest,
	}
	if t.late == "" {
		t.late = driver.ReasonDeadline
	}
	if c.Window == 0 {
		t.window = -1 // no bound
	}
	return t
}

// terms adds those of c, often the same as the last.
func (r *request) terms(c *driver.Claim) {
	if t := termsOf(c); len(r.packed) == 0 || t != r.last {
		r.last, r.packed = t, t.pack(r.packed[:0])
	}
	r.args.b = append(r.args.b, r.packed...)
	r.args.end()
}

// pack writes terms as the script reads them.
func (t *terms) pack(b []byte) []byte {
	number := func(n int64) { b = append(strconv.AppendInt(b, n, 10), '|') }
	number(t.ttl)
	number(t.deadline)
	b = append(appendEscaped(b, t.late), '|')
	number(int64(t.attempts))
	b = append(b, flag(t.rerun), '|')
	number(t.window)
	b = append(b, '0'+byte(t.overlap), '|', flag(t.backlog), '|')
	number(t.latest)
	return appendEscaped(b, t.node)
}

func flag(set bool) byte {
	if set {
		return '1'
	}
	return '0'
}
