package redlock

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// errNotAsked stands for the answer of a server that was not asked.
var errNotAsked = errors.New("not asked")

// A ballot is what the answers to one request amount to. It is pure, so that it
// can be simulated.
type ballot struct {
	answers  []answer
	majority int
	overdue  bool // what is missing has had its time
}

func (b ballot) count(code int64) (n int) {
	for i := range b.answers {
		if b.answers[i].err == nil && b.answers[i].code == code {
			n++
		}
	}
	return n
}

// silent is how many servers gave no answer.
func (b ballot) silent() (n int) {
	for i := range b.answers {
		if b.answers[i].err != nil {
			n++
		}
	}
	return n
}

// waitedFor is the ballot without the servers whose answers come late.
func (b ballot) waitedFor() ballot {
	all := slices.Clone(b.answers)
	for i := range all {
		if errors.Is(all[i].err, errLate) {
			all[i].err = errNotAsked
		}
	}
	b.answers = all
	return b
}

// errs are the reasons of the silent ones, as one error.
func (b ballot) errs() error {
	var all []error
	for i := range b.answers {
		all = append(all, b.answers[i].err)
	}
	return errors.Join(all...)
}

// fence is the fence of a grant: the one that a majority says, else the highest.
// That has to be written to a majority first, since one that holds less, asked
// later without the one server that said it, would give a lower number.
//
// A number that a majority says is enough although a server beside it says more.
// Every earlier grant stands on a majority, so one that agrees now has seen it
// and answered more; what is higher beside it was never a grant's.
func (b ballot) fence() (highest int64) {
	votes := make(map[int64]int, 2)
	for i := range b.answers {
		a := &b.answers[i]
		if a.err != nil || a.code != yes {
			continue
		}
		votes[a.fence]++
		if votes[a.fence] >= b.majority {
			return a.fence
		}
		highest = max(highest, a.fence)
	}
	return highest
}

// with is how many say this fence.
func (b ballot) with(fence int64) (n int) {
	for i := range b.answers {
		if a := &b.answers[i]; a.err == nil && a.code == yes && a.fence == fence {
			n++
		}
	}
	return n
}

// decided reports whether no further answer to an acquisition is waited for: a
// majority says one fence, or that one other owner has the key. A majority with
// several fences is worth the wait for one more answer, which may spare the second
// round trip, but not the wait for a server that is silent.
func (b ballot) decided() bool {
	if b.count(yes) >= b.majority {
		return b.overdue || b.with(b.fence()) >= b.majority
	}
	return b.held() >= b.majority
}

// freeing reports whether the key is free on a majority: where it was freed, and
// where it was never asked for.
func (b ballot) freeing() bool {
	free := b.count(yes) + b.count(was)
	return free > 0 && free+b.notAsked().count() >= b.majority
}

// vanished reports whether so many servers had forgotten a lease that is released, or
// were never asked for it, that a majority may have voted for another owner. One that
// has another owner's lease had forgotten this one.
func (b ballot) vanished() bool {
	n := b.count(was) + b.count(no)
	return n > 0 && n+b.notAsked().count() >= b.majority
}

// released reports whether no further answer to a release is waited for. That the key is
// free is not enough: of a lease that a bare majority was asked for, the first answer
// says so, and the next may be that its server had forgotten the lease. Whether it had
// vanished is decided by as many as know it still, or do not: they are waited for as long
// as any server is.
func (b ballot) released() bool {
	return b.freeing() && (b.vanished() || b.count(yes) >= b.majority)
}

// left is how long a majority has the lease: some may have less.
func (b ballot) left() time.Duration {
	var all []time.Duration
	for i := range b.answers {
		if b.answers[i].err == nil && b.answers[i].code == yes {
			all = append(all, b.answers[i].left)
		}
	}
	if len(all) < b.majority {
		return 0
	}
	slices.Sort(all)
	return all[len(all)-b.majority]
}

// held is how many servers say the same lease of another owner: its fence and the
// owner. Which of the owner's requests a server has seen last does not count: one
// that was restarted, or was silent, has the lease from a later request.
func (b ballot) held() (votes int) {
	_, votes = b.most(func(lease string) string { return lease })
	return votes
}

// rival is the other owner with the most votes, under whatever fences: it makes
// them one as soon as they are a majority.
func (b ballot) rival() (owner string, votes int) {
	return b.most(func(lease string) string {
		_, owner, _ := strings.Cut(lease, "|")
		return owner
	})
}

// most counts the votes of others by what of says of their leases. Of several with
// the same number it is the first by name.
func (b ballot) most(of func(lease string) string) (name string, votes int) {
	all := make(map[string]int, 1)
	for i := range b.answers {
		a := &b.answers[i]
		if a.err != nil || a.code != no {
			continue
		}
		by := of(a.about)
		all[by]++
		if n := all[by]; n > votes || n == votes && by < name {
			name, votes = by, n
		}
	}
	return name, votes
}

// freed is how long it takes until enough votes of others have ended for a
// majority to be free.
func (b ballot) freed() time.Duration {
	var all []time.Duration
	for i := range b.answers {
		if b.answers[i].err == nil && b.answers[i].code == no {
			all = append(all, b.answers[i].left)
		}
	}
	slices.Sort(all)
	need := b.majority - (len(b.answers) - len(all))
	if need < 1 {
		return 0
	}
	return all[need-1]
}

// leads reports whether me, with that many votes, has more than every other
// owner; of two with the same number one leads.
func (b ballot) leads(me string) bool {
	owner, votes := b.rival()
	return cmp.Or(cmp.Compare(b.count(yes), votes), cmp.Compare(owner, me)) > 0
}

// split reports whether certainly no owner has a majority under one fence.
func (b ballot) split() bool {
	return b.count(yes) < b.majority && b.held()+b.silent()+b.count(odd) < b.majority
}

// voted are the servers that answered with code.
func (b ballot) voted(code int64) (which servers) {
	for i := range b.answers {
		if b.answers[i].err == nil && b.answers[i].code == code {
			which |= 1 << i
		}
	}
	return which
}

// unlike are the servers that said yes with another fence.
func (b ballot) unlike(fence int64) (which servers) {
	for i := range b.voted(yes).each() {
		if b.answers[i].fence != fence {
			which |= 1 << i
		}
	}
	return which
}

// notAsked are the servers that know nothing of the request.
func (b ballot) notAsked() (which servers) {
	for i := range b.answers {
		if errors.Is(b.answers[i].err, errNotAsked) {
			which |= 1 << i
		}
	}
	return which
}

// agree reports whether all that have answered say the same.
func (b ballot) agree() bool {
	var said *answer
	for i := range b.answers {
		a := &b.answers[i]
		switch {
		case errors.Is(a.err, errNotAsked), errors.Is(a.err, errLate):
		case a.err != nil || a.code == odd:
			return false
		case said == nil:
			said = a
		case a.code != said.code || a.fence != said.fence || a.about != said.about:
			return false
		}
	}
	return true
}
