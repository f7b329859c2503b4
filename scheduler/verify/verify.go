// Package verify checks a job's journal: it recomputes, from the specs that the store recorded,
// which ticks were due, and accounts for each of them. It is pure: it uses no store and reads no
// clock.
//
// # Invariants
//
// I1: one verdict for each tick. The mark never goes back, no attempt is granted twice, an attempt
// only follows one that allows another, and a settled tick stays settled.
//
// I2: fences strictly increase in the order of the grants, waiting ticks included, and each later
// line of a tick carries the fence of its grant.
//
// I3: no attempt is taken over or recorded as lost before its lease can have ended. With
// Options.Exclusive, no tick starts while an earlier run has neither ended nor been settled, but for the run
// of a backfill whose lease can have ended.
//
// I4: no tick is silently absent. Each line begins where the line before it moved the mark to,
// gives a verdict to the ticks between, names a recorded revision and a tick of its spec, and
// leaves nothing that its step had to settle.
//
// A tick that the mark has not passed is overdue once it is past the deadline that was recorded
// with its spec, and the grace. The exception is a tick that waits for a run that is alive: a tick
// of a backlog, or one that was due before that run was granted. A run whose lease is over, and a
// tick that was to be started, are overdue once they were left for longer than the grace. All of
// this holds even if all nodes are dead, because due ticks are computed from the specs, up to the
// store's clock. Ticks of a pause are not overdue; ticks after its end are. A run that ends during
// a pause waits for the end of the pause. If, by the recorded policies, commands in crontabs claim
// the ticks of a job, or if the job was removed, none of them is overdue, because no node is to decide
// them. [Judge] judges
// each tick by the same rules, and package why explains the result in a sentence.
//
// I7: no tick is granted or decided before its instant.
//
// I9: a manual run follows the change that requested it, and never moves the mark. The runs of a backfill
// follow one another, each for a later tick of a spec that the mark has passed.
//
// I10: each change by an operator has one line, and the numbers of a job's changes have no gap.
// Nothing is granted in a pause but manual runs that were requested during it, and no tick is paused
// without one.
//
// I12: no attempt of a run is granted after its cancel.
//
// S2: the fences of the shards of a tick are distinct, and above the fence of the tick.
//
// S3: a sharded tick that has ended has a verdict for each of its shards, and they give its outcome.
//
// S4: each grant has a fence above the fences of all shards whose ticks have ended before.
//
// S5: the number of shards of a tick does not change.
//
// A sharded tick counts once, by its own outcome. The journal has the verdicts of its shards only when it has
// ended. If they are gone, nothing about them is judged. While the tick goes on, it is overdue once
// all leases of its shards are over and it was left for longer than the grace, like a run; before the first one is granted,
// from the instant on until which a free shard may start.
//
// A mark, or a line, in the future of the store's clock is reported: the clock was ahead for a
// while. It gives no verdict to the ticks up to now, which are overdue if no other line covers
// them.
//
// A line that cannot be read is reported and skipped: the ticks that it may have decided count as
// unknown, and all others are proven. The work on one job is bounded.
//
// # Limits of the proof
//
// A journal is a snapshot of a moving state: nodes that return after an outage are seen first, and
// decide the missed ticks a moment later. A caller that finds a violation or an overdue tick should
// read again before it reports the finding.
//
// Renewals are not recorded, so [Options].State decides whether a run without an end is alive or
// over; without State it counts as running. A store that lost all its data lost its journal too:
// the job then begins with a new opening, and earlier ticks are not known to have been due. Ticks
// before the beginning of a truncated journal are not judged; Report.TooEarly is set if the caller
// requested them.
//
// # Several specs
//
// While nodes disagree on a spec, each revision has ticks of its own. They are due from the first
// instant after its first sighting to its last known use, or to the first sighting of a later
// revision if that is later. The revision used last is still in force. If a spec was replaced and
// came back, this is a separate use, without ticks in the time between. A node of another revision
// may move the mark past a tick that its own spec does not have. This tick counts as passed over,
// which is no violation. A tick that both specs have gets a verdict in any case.
package verify

import (
	"time"

	"github.com/cronce/cronce/lock/series"
)

// Options select the part of a journal that is counted. The zero value counts all of it.
type Options struct {
	// Since is the first instant whose ticks are counted and whose violations are
	// reported. Zero: where the proof begins.
	Since time.Time
	// Now is the store's clock after the journal was read; later ticks are not counted. Zero: the
	// clock in State, or else the newest instant in the journal.
	Now time.Time
	// State is the series as it was read after the journal. It has the pause, the runs that are
	// alive, and the clock that shows which lines are in the future. Nil: not known; a run without
	// an end counts as alive.
	State *series.Series
	// Audit has the records of control changes, of this job or of all jobs, in the order of their
	// numbers, read before the journal. Nil: not known.
	Audit []series.AuditRecord
	// Alive reports whether a node is alive. Nil: not known.
	Alive func(node string) bool
	// Removed reports that the job was just removed from all nodes that had it. No node is to decide
	// its ticks, so none of them is overdue.
	Removed bool
	// Grace is how long after its deadline a tick may be without a verdict, and how
	// long a run whose lease is over may be left, before it is overdue. Zero: 10 seconds.
	Grace time.Duration
	// Exclusive requires that runs of the job do not overlap, as under every policy but allow. The
	// journal does not record this. If it is set, a tick that starts while an earlier run is open
	// violates I3; otherwise the overlap is only counted.
	Exclusive bool
}

// Job checks one job's journal. It reads all lines, so that it knows the state before
// Options.Since. It never fails: a line that it cannot explain is a violation.
func Job(j series.Journal, o Options) Report { return NewJudge(j, o).Report() }
