package dispatch

import (
	"context"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/health"
)

// A request goes to the store in one call: claims, or a share to peek at.
type request struct {
	claims []*claims.Pending
	share  *claims.Share
}

// send sends the request, and applies the answers when they arrive or the request times out.
func (r *request) send(d *Dispatcher) {
	ctx, stop := context.WithTimeout(d.life, d.cfg.Claims.Timeout)
	defer stop()
	if r.share != nil {
		d.peek(ctx, r)
		return
	}
	d.mu.Lock()
	now := d.cfg.Clock.Ms()
	wire := make([]series.Claim, len(r.claims))
	for i, p := range r.claims {
		wire[i] = d.claims.Send(p, d.cfg.Claimer.Owner, now)
	}
	d.mu.Unlock()
	sent := time.Now()
	d.cfg.Claimer.ClaimThen(ctx, wire, func(answers []claimer.Claimed) { d.answered(r, answers, time.Since(sent)) })
}

// peek reads which ticks of a share are decided, unless the store has its whole group as decided.
func (d *Dispatcher) peek(ctx context.Context, r *request) {
	if r.share.Group.Count > 0 && d.cfg.Groups.Noticed(r.share.Group) {
		d.decided(r)
		return
	}
	first := context.AfterFunc(ctx, func() { d.peeked(r, nil, ctx.Err()) })
	if r.share.Group.Count > 0 {
		if decided, err := d.cfg.Groups.Decided(ctx, r.share.Group); decided && err == nil { // after an error the peek decides
			if first() {
				d.decided(r)
			}
			return
		}
	}
	answers, err := d.cfg.Peeker.Peek(ctx, r.share.Peeks, d.cfg.Events.NamesWinners())
	if first() {
		d.peeked(r, answers, err)
	}
}

// peeked applies the answers to a share, and claims the ticks that are not known to be decided.
func (d *Dispatcher) peeked(r *request, answers []*series.Answer, err error) {
	s := r.share
	if partition, some := s.Partition(); some && d.life.Err() == nil { // a request that was cut short by the end of the node proves nothing
		d.cfg.Health.Answered(health.Part{Partition: partition, Kind: health.Peeks}, err)
	}
	if err != nil {
		answers = make([]*series.Answer, len(s.Peeks))
	}
	if d.cfg.Events.NamesWinners() {
		s.Report(answers, d.cfg.Events)
	}
	d.mu.Lock()
	keep := d.claims.Peeked(s, answers, d.cfg.Clock.Ms())
	fx := d.claims.Effects()
	d.arm()
	d.mu.Unlock()
	d.apply(fx)
	if keep {
		d.wg.Add(1)
		go d.keep(s.Group)
	}
	d.returned(r)
}

// decided applies the answer, or the notice, that all ticks of a share's group are decided. A notice shows as well that the partition
// answers: a watcher has just kept the group there.
func (d *Dispatcher) decided(r *request) {
	d.cfg.Health.Answered(health.Part{Partition: r.share.Group.Partition, Kind: health.Peeks}, nil)
	d.mu.Lock()
	d.claims.Decided(r.share)
	d.mu.Unlock()
	d.returned(r)
}

// keep keeps in the store that a group is decided. If that fails, other nodes peek at its ticks. The caller has
// added it to wg.
func (d *Dispatcher) keep(g series.Group) {
	ctx, stop := context.WithTimeout(d.life, d.cfg.Claims.Timeout)
	defer stop()
	first := context.AfterFunc(ctx, d.wg.Done)
	_ = d.cfg.Groups.KeepDecided(ctx, g)
	if first() {
		d.wg.Done()
	}
}

// returned removes a request from those without an answer.
func (d *Dispatcher) returned(r *request) {
	d.mu.Lock()
	delete(d.sending, r)
	d.mu.Unlock()
	d.changed()
	d.wg.Done()
}
