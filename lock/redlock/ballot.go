package redlock

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"
)

// A ballot evaluates the answers to one request. It is pure code, so that it can be simulated.
type ballot struct {
	answers  []answer // one for each server
	majority int
}

// emptyBallot returns the ballot before a request was sent to any server.
func (d *Driver) emptyBallot() ballot {
	b := ballot{answers: make([]answer, len(d.nodes)), majority: d.majority}
	for i := range b.answers {
		b.answers[i].err = errNotAsked
	}
	return b
}

// by returns the answers with a code, and the indexes of their servers.
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

// voted returns the servers that answered with code.
func (b ballot) voted(code int64) (which []int) {
	for i := range b.by(code) {
		which = append(which, i)
	}
	return which
}

// silent returns the servers that gave no answer, except for servers to which no request was sent.
func (b ballot) silent() (which []int) {
	for i := range b.answers {
		if err := b.answers[i].err; err != nil && !errors.Is(err, errNotAsked) {
			which = append(which, i)
		}
	}
	return which
}

// failed returns the silent servers whose answers are no longer awaited.
func (b ballot) failed() []int {
	return slices.DeleteFunc(b.silent(), func(i int) bool { return errors.Is(b.answers[i].err, errLate) })
}

// fence returns the fence of a grant: the fence that a majority answers, otherwise the highest. The
// highest must be written to a majority before it is granted: otherwise a later majority without
// the one server that answered it would give a lower number.
//
// A number that a majority answers is enough even if another server answers a higher one. Every
// earlier grant is stored on a majority, so a majority that agrees now contains a server that has
// seen the grant and answered a higher number; a higher number outside the majority was never
// granted.
func (b ballot) fence() (highest int64) {
	for _, a := range b.by(yes) {
		if b.with(a.fence) >= b.majority {
			return a.fence
		}
		highest = max(highest, a.fence)
	}
	return highest
}

// with returns how many servers answer this fence.
func (b ballot) with(fence int64) (n int) {
	for _, a := range b.by(yes) {
		if a.fence == fence {
			n++
		}
	}
	return n
}

// unlike returns the servers that answered yes with another fence.
func (b ballot) unlike(fence int64) (which []int) {
	for i, a := range b.by(yes) {
		if a.fence != fence {
			which = append(which, i)
		}
	}
	return which
}

// decided reports whether an acquisition needs no further answer: a majority answers one fence, or
// that one other owner has the key.
func (b ballot) decided() bool {
	return b.with(b.fence()) >= b.majority || b.held() >= b.majority
}

// freeing reports whether the key is free on a majority.
func (b ballot) freeing() bool { return b.count(yes)+b.count(was) >= b.majority }

// vanished reports whether so many servers had forgotten the lease to be released that they may
// have voted for another owner meanwhile. A server that has another owner's lease has forgotten
// this one. A silent server has not: a grant may be on a bare majority, so that the other servers
// never had the lease.
func (b ballot) vanished() bool { return b.count(was)+b.count(no) >= b.majority }

// released reports whether a release needs no further answer. A free key is not enough: whether the
// lease had vanished is decided by a majority of servers that still knew it, or of servers that did
// not.
func (b ballot) released() bool {
	return b.freeing() && (b.vanished() || b.count(yes) >= b.majority)
}

// lefts returns the times until the deadlines of the leases in answers with a code, in ascending
// order.
func (b ballot) lefts(code int64) (all []time.Duration) {
	for _, a := range b.by(code) {
		all = append(all, a.left)
	}
	slices.Sort(all)
	return all
}

// left returns for how long a majority has the lease: some servers may have it for less.
func (b ballot) left() time.Duration {
	all := b.lefts(yes)
	if len(all) < b.majority {
		return 0
	}
	return all[len(all)-b.majority]
}

// freed returns how long it takes until enough votes for other owners have ended to make the key
// free on a majority.
func (b ballot) freed() time.Duration {
	all := b.lefts(no)
	need := b.majority - (len(b.answers) - len(all))
	if need < 1 {
		return 0
	}
	return all[need-1]
}

// held returns how many servers answer the same lease of another owner, that is, the same fence and
// owner. The number of the last request that a server has seen does not count: a server that was
// restarted, or was silent, has the lease from a later request.
func (b ballot) held() (votes int) {
	_, votes = b.most(func(lease string) string { return lease })
	return votes
}

// rival returns the other owner with the most votes. It ignores their fences: the owner unifies the
// fences as soon as it has a majority.
func (b ballot) rival() (owner string, votes int) {
	return b.most(func(lease string) string {
		_, owner, _ := strings.Cut(lease, "|")
		return owner
	})
}

// most counts the votes for other owners by a part of their leases. Of several parts with the same
// number it returns the first in lexical order.
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

// leads reports whether me, with its votes here, has more votes than every other owner. Of two
// owners with the same number exactly one leads.
func (b ballot) leads(me string) bool {
	owner, votes := b.rival()
	return cmp.Or(cmp.Compare(b.count(yes), votes), cmp.Compare(owner, me)) > 0
}

// split reports whether certainly no owner has a majority with one fence, even if every server that
// gave no answer, or had undone the request, voted for the same owner.
func (b ballot) split() bool {
	return b.count(yes) < b.majority && b.held()+len(b.silent())+b.count(odd) < b.majority
}
