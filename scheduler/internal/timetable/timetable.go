// Package timetable orders jobs by the instant at which their next tick is due, and computes the
// ticks of one job. Time is an argument, in Unix milliseconds. Nothing in the package is safe for
// concurrent use.
package timetable

import (
	"cmp"
	"math"
	"slices"
)

// A Table is a heap of job numbers, ordered by the instant at which the next tick of a job is due.
// Jobs of one instant come in the order of their numbers, because their state then lies side by
// side in memory. Methods cost O(log n) unless they say otherwise. The zero Table is empty.
type Table struct{ slots []slot }

// A slot is a job's element of the heap. It has all that sifting needs.
type slot struct {
	at int64
	no uint32
}

func (s *slot) before(other *slot) bool {
	return s.at < other.at || s.at == other.at && s.no < other.no
}

// never is the instant of a job whose spec has no tick left, such as one that names years. It sorts
// last.
const never = math.MaxInt64

// Next returns the instant of the earliest job, or 0 if no job will ever be due. It costs O(1).
func (t *Table) Next() int64 {
	if len(t.slots) == 0 || t.slots[0].at == never {
		return 0
	}
	return t.slots[0].at
}

// First returns the number of the earliest job. The table must not be empty. It costs O(1).
func (t *Table) First() int { return int(t.slots[0].no) }

// Push adds a job. If at is 0 it is never due.
func (t *Table) Push(no uint32, at int64) {
	t.slots = append(t.slots, slot{cmp.Or(at, never), no})
	t.up(len(t.slots) - 1)
}

// Reset moves the earliest job to a later instant, or removes it if at is 0.
func (t *Table) Reset(at int64) {
	if at != 0 {
		t.slots[0].at = at
		t.down(0)
		return
	}
	last := len(t.slots) - 1
	t.slots[0] = t.slots[last]
	t.slots = t.slots[:last]
	if last > 0 {
		t.down(0)
	}
}

// ResetAll moves every job to a new instant. A job whose instant is 0 is never due. It costs O(n).
func (t *Table) ResetAll(at func(no int) int64) {
	for i := range t.slots {
		t.slots[i].at = cmp.Or(at(int(t.slots[i].no)), never)
	}
	for i := range slices.Backward(t.slots) {
		t.down(i)
	}
}

// Remove removes the jobs for whose numbers out returns true. It costs O(n).
func (t *Table) Remove(out func(no int) bool) {
	t.slots = slices.DeleteFunc(t.slots, func(s slot) bool { return out(int(s.no)) })
	for i := range slices.Backward(t.slots) {
		t.down(i)
	}
}

// arity is the number of children per slot. A higher arity means fewer levels, and the children lie
// side by side in memory.
const arity = 4

func (t *Table) up(i int) {
	moving := t.slots[i]
	for i > 0 {
		parent := (i - 1) / arity
		if !moving.before(&t.slots[parent]) {
			break
		}
		t.slots[i] = t.slots[parent]
		i = parent
	}
	t.slots[i] = moving
}

func (t *Table) down(i int) {
	moving := t.slots[i]
	for {
		first := i*arity + 1
		if first >= len(t.slots) {
			break
		}
		least := first
		for c := first + 1; c < min(first+arity, len(t.slots)); c++ {
			if t.slots[c].before(&t.slots[least]) {
				least = c
			}
		}
		if !t.slots[least].before(&moving) {
			break
		}
		t.slots[i] = t.slots[least]
		i = least
	}
	t.slots[i] = moving
}
