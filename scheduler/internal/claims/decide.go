package claims

import "github.com/cronce/cronce/lock/series"

// A situation is the state of a claim that decide needs besides the answer.
type situation struct {
	overlap  series.Overlap // of the job
	backlog  bool           // missed ticks of the job run one after the other
	draining bool           // the node drains
	stale    bool           // a newer tick replaced this one
	covered  bool           // a newer tick was handed out since, and has a claim of its own; never of a chain's claim: the chain goes on
	settle   bool           // the claim has no slot: it is sent only to be recorded as missed
	former   bool           // only a former spec has the tick, so no claim of the spec in force covers what is before it
	chained  bool           // another claim covers the next missed tick
}

// A step is the next action for a claim.
type step uint8

const (
	stepEnd      step = iota // end the claim: it has its verdict
	stepDrop                 // end the refused claim, but a lost request of it may still be granted
	stepDoubt                // send it again with the same owner, because it may have been granted
	stepRetry                // send it again after a pause
	stepWait                 // send it again when the store's clock has reached its tick
	stepHold                 // send it again when the run that blocks it is over
	stepCover                // send it again at once, covering the gap before it
	stepTakeOver             // take the orphan over, then send the claim again
)

// A watch selects how to watch the run that an answer names.
type watch uint8

const (
	watchNothing watch = iota
	watchRun           // probe the run if it may need another attempt or its end
	watchWaiting       // probe the waiting tick when the run that it waits for is over
)

// actions are the consequences of an answer.
type actions struct {
	step      step
	start     bool  // a run starts
	replace   bool  // this node's older runs of the job must end
	settles   bool  // the run of the previous tick needs no probe if this tick was granted
	watch     watch // the run that the answer names
	begin     bool  // claim the oldest missed tick
	follow    bool  // continue with the next missed tick, if this was one
	open      bool  // the job is not open in the store
	readClock bool  // this node's clock may be behind the store's
}

// decide returns the consequences of an answer of the store. It is a pure function.
func decide(s situation, a *series.Answer) actions {
	switch a.Kind {
	case series.KindGranted:
		do := actions{step: stepEnd, start: true, settles: true, follow: s.overlap == series.OverlapAllow}
		if a.Of > 0 { // others may have further shards
			do.watch = watchRun
		}
		return do
	case series.KindOver, series.KindPassed:
		return actions{step: stepDrop, settles: true, watch: watchRun, follow: true}
	case series.KindWaiting:
		return actions{step: stepEnd, watch: watchWaiting, replace: s.overlap == series.OverlapReplace}
	case series.KindMissed, series.KindSkipped, series.KindPaused, series.KindOperator:
		return actions{step: stepEnd, follow: true}
	case series.KindUnknown: // also in a drain, because the claim may hold a lease
		return actions{step: stepDoubt, open: a.Err == nil}
	case series.KindAhead:
		return actions{step: stepDoubt}
	}
	if s.draining || s.stale && a.Kind == series.KindExpired {
		return actions{step: stepDrop} // the claim was not granted, and there is nothing else to do for it
	}
	switch a.Kind {
	case series.KindExpired:
		return actions{step: stepRetry, readClock: true}
	case series.KindEarly:
		return actions{step: stepWait}
	case series.KindHeld:
		return actions{step: stepHold}
	case series.KindGap:
		return decideGap(s)
	case series.KindOrphan:
		if s.settle { // without a slot it cannot wait for the takeover
			return actions{step: stepRetry}
		}
		return actions{step: stepTakeOver}
	}
	return actions{step: stepDoubt} // an answer of a newer version
}

// decideGap returns the consequences if ticks before this one are undecided.
func decideGap(s situation) actions {
	switch {
	case s.former:
		return actions{step: stepCover}
	case s.covered:
		return actions{step: stepDrop}
	case s.backlog:
		return actions{step: stepDrop, begin: !s.chained}
	}
	return actions{step: stepCover}
}
