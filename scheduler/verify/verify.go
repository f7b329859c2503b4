// Package verify checks a job's journal: it recomputes, from the specs that the
// store recorded, which ticks were due, and accounts for each of them. It is
// pure: it asks no store and reads no clock.
//
// # What is checked
//
// I1: one verdict for each tick. The mark never goes back, no attempt is granted
// twice, an attempt follows only one that could have another, and what was
// settled stays settled.
//
// I2: fences strictly increase in the order of the grants, waiting ticks
// included, and each later line of a tick carries the fence of its grant.
//
// I3: no attempt is taken over, and none is called lost, before its lease can
// have ended; with Options.Exclusive, no tick starts while an earlier run has
// neither ended nor been settled.
//
// I4: no tick is silently absent. Each line begins where the one before it
// moved the mark to, says what became of the ticks between, names a recorded
// revision and a tick of its spec, and leaves nothing that its step had to
// settle.
//
// A tick that the mark has not passed is overdue once it is past the deadline that was
// recorded with its spec, and the grace, unless it waits for a run that is alive: one
// of a backlog, or one that was due before that run was granted. So is a run whose
// lease is over, and a tick that was to be started, once they were left for longer
// than the grace. That holds with all nodes dead too: what is due is computed from the
// specs, up to the store's clock. Ticks of a pause are not overdue; those after its end are.
// A run that is over in a pause waits for the end of that. Nothing is overdue of a job whose ticks crontabs
// ask for, by the policies that are recorded: no node is to decide them. [Judge] says the same of each tick
// by itself, and package why puts that in a sentence.
//
// I7: nothing is granted or spent before its instant.
//
// I10: each change by an operator has one line, and the numbers of a job's changes have no
// gap; nothing is granted in a pause, and no tick is paused without one.
//
// A mark, or a line, that lies in the future of the store's clock is reported: the clock
// was ahead for a while. It is no verdict of the ticks up to now, which are overdue if no
// other line covers them.
//
// A line that cannot be read is reported and passed over: what it may have decided
// counts as unknown, and all else is proven. The work on one job is bounded.
//
// # What a journal cannot show
//
// It is one look at what moves: nodes that return after an outage are seen
// first, and decide what was missed a moment later. A caller that finds a violation, or an
// overdue tick, may look again before believing it.
//
// Renewals are not written, so a run without an end is alive or over as
// [Options].State says; without it, it is counted as running. A store that lost everything lost its journal
// too: the job then begins with a new opening, and the ticks before it are not
// known to have been due. What happened before a truncated journal begins is not
// judged, and Report.TooEarly says when that was asked for.
//
// # Several specs
//
// While nodes disagree on a spec each revision has ticks of its own, due from
// the first instant after its first sighting to its last known use, or to the first
// sighting of a later one if that came after; the one used latest is in force to this
// day. A spec that was replaced and came back has a use of its own, and no ticks of the
// time between. A tick that
// lies in a range moved by a node of another revision, and that the other spec
// does not name, is counted as passed over and is no violation; one that the other
// spec names too has a verdict in any case.
package verify

import (
	"time"

	"github.com/cronce/cronce/lock/series"
)

// Options say what part of a journal is counted. The zero value counts all.
type Options struct {
	// Since is the first instant whose ticks are counted and whose violations are
	// reported. Zero: where the proof begins.
	Since time.Time
	// Now is the store's clock after the journal was read; later ticks are not
	// counted. Zero: that of State, else the newest instant that the journal names.
	Now time.Time
	// State is the series as it was read after the journal: it shows the pause, and
	// which runs are alive, and what of the journal lies in the future of its clock. Nil:
	// not known; a run without an end is taken for alive.
	State *series.Series
	// Audit are the records of control changes, of this job or of all, in the order of their
	// numbers, read before the journal. Nil: not known.
	Audit []series.AuditRecord
	// Alive names the nodes that live. Nil: not known.
	Alive func(node string) bool
	// Grace is how long after its deadline a tick may be without a verdict, and how
	// long a run whose lease is over may be left, before it is overdue. Zero: 10 seconds.
	Grace time.Duration
	// Exclusive says that runs of the job must not overlap, under every policy but
	// allow; the journal does not say. Then a tick that starts while an earlier run
	// is open breaks I3. Else it is only counted.
	Exclusive bool
}

// Job checks one job's journal. It reads all lines, so that what came before
// Options.Since is known, and never fails: what it cannot explain is a violation.
func Job(j series.Journal, o Options) Report { return NewJudge(j, o).Report() }
