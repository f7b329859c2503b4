package redlock

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"
)

// A ballot is what the answers to one request amount to. It is pure, so that it
// can be simulated.
type ballot struct {
	answers  []answer // one for each server
	majority int
}

// emptyBallot is the ballot before any server was asked.
func (d *Driver) emptyBallot() ballot {
	b := ballot{answers: make([]answer, len(d.nodes)), majority: d.majority}
	for i := range b.answers {
		b.answers[i].err = errNotAsked
	}
	return b
}

// by are the answers with a code, and the places of their servers.
func (b ballot) by(code int64) iter.Seq2[int, *answer] {
	return func(yield func(int, *answer) bool) {
		for i := range b.answers {
			if a := &b.answers[i]; a.err == nil && a.code == code && !yield(i, a) {
				return
			}
		}
	}
}

func (b ballot) count(code int64) (n int) {
	for range b.by(code) {
		n++
	}
	return n
}

// voted are the servers that answered with code.
func (b ballot) voted(code int64) (which []int) {
	for i := range b.by(code) {
		which = append(which, i)
	}
	return which
}

// silent are the servers that gave no answer, except those that were not asked.
func (b ballot) silent() (which []int) {
	for i := range b.answers {
		if err := b.answers[i].err; err != nil && !errors.Is(err, errNotAsked) {
			which = append(which, i)
		}
	}
	return which
}

// failed are the silent servers whose answers are not awaited any more.
func (b ballot) failed() []int {
	return slices.DeleteFunc(b.silent(), func(i int) bool { return errors.Is(b.answers[i].err, errLate) })
}

// fence is the fence of a grant: the one that a majority says, else the highest.
// The highest has to be written to a majority before it is granted: otherwise a later
// majority without the one server that said it would give a lower number.
//
// A number that a majority says is enough although another server says more. Every
// earlier grant stands on a majority, so a majority that agrees now contains a server
// that has seen it and answered more; a higher number beside it was never granted.
func (b ballot) fence() (highest int64) {
	for _, a := range b.by(yes) {
		if b.with(a.fence) >= b.majority {
			return a.fence
		}
		highest = max(highest, a.fence)
	}
	return highest
}

// with is how many servers say this fence.
func (b ballot) with(fence int64) (n int) {
	for _, a := range b.by(yes) {
		if a.fence == fence {
			n++
		}
	}
	return n
}

// unlike are the servers that said yes with another fence.
func (b ballot) unlike(fence int64) (which []int) {
	for i, a := range b.by(yes) {
		if a.fence != fence {
			which = append(which, i)
		}
	}
	return which
}

// decided reports whether an acquisition needs no further answer: a majority says one
// fence, or that one other owner has the key.
func (b ballot) decided() bool {
	return b.with(b.fence()) >= b.majority || b.held() >= b.majority
}

// freeing reports whether the key is free on a majority.
func (b ballot) freeing() bool { return b.count(yes)+b.count(was) >= b.majority }

// vanished reports whether so many servers had forgotten a lease that is released that
// they may have voted for another owner meanwhile. A server that has another owner's
// lease has forgotten this one.
func (b ballot) vanished() bool { return b.count(was)+b.count(no) >= b.majority }

// released reports whether a release needs no further answer. A free key is not
// enough: whether the lease had vanished is decided by a majority of the servers
// that know it still, or of those that do not.
func (b ballot) released() bool {
	return b.freeing() && (b.vanished() || b.count(yes) >= b.majority)
}

// lefts are the times until the deadlines of the leases in answers with a code,
// in ascending order.
func (b ballot) lefts(code int64) (all []time.Duration) {
	for _, a := range b.by(code) {
		all = append(all, a.left)
	}
	slices.Sort(all)
	return all
}

// left is how long a majority has the lease: some may have less.
func (b ballot) left() time.Duration {
	all := b.lefts(yes)
	if len(all) < b.majority {
		return 0
	}
	return all[len(all)-b.majority]
}

// freed is how long it takes until enough votes of others have ended for a
// majority to be free.
func (b ballot) freed() time.Duration {
	all := b.lefts(no)
	need := b.majority - (len(b.answers) - len(all))
	if need < 1 {
		return 0
	}
	return all[need-1]
}

// held is how many servers say the same lease of another owner: its fence and the
// owner. The number of the request that a server has seen last does not count: a server
// that was restarted, or was silent, has the lease from a later request.
func (b ballot) held() (votes int) {
	_, votes = b.most(func(lease string) string { return lease })
	return votes
}

// rival is the other owner with the most votes, under whatever fences: the owner makes
// them one as soon as they are a majority.
func (b ballot) rival() (owner string, votes int) {
	return b.most(func(lease string) string {
		_, owner, _ := strings.Cut(lease, "|")
		return owner
	})
}

// most counts the votes of others by a part of their leases. Of several parts with the
// same number it is the first in the order of texts.
func (b ballot) most(part func(lease string) string) (name string, votes int) {
	all := make(map[string]int, 1)
	for _, a := range b.by(no) {
		by := part(a.about)
		all[by]++
		if n := all[by]; n > votes || n == votes && by < name {
			name, votes = by, n
		}
	}
	return name, votes
}

// leads reports whether me, with its votes here, has more than every other owner. Of
// two owners with the same number exactly one leads.
func (b ballot) leads(me string) bool {
	owner, votes := b.rival()
	return cmp.Or(cmp.Compare(b.count(yes), votes), cmp.Compare(owner, me)) > 0
}

// split reports whether certainly no owner has a majority under one fence: not even if
// every server that gave no answer, or had undone the request, voted for the same one.
func (b ballot) split() bool {
	return b.count(yes) < b.majority && b.held()+len(b.silent())+b.count(odd) < b.majority
}
