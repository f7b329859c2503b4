package claims

import "github.com/cronce/cronce/lock/series"

// A situation is what decide needs to know of a claim beside its answer.
type situation struct {
	overlap  series.Overlap // of the job
	backlog  bool           // missed ticks of the job run one after the other
	draining bool           // the node drains
	stale    bool           // a newer tick took the place of this one
	covered  bool           // a newer tick was handed out since, and is claimed by itself
	settle   bool           // the claim has no slot: it is only sent to be recorded as missed
	chained  bool           // another claim asks for the next missed tick
}

// A step is what becomes of a claim.
type step uint8

const (
	stepEnd      step = iota // it has its verdict
	stepDrop                 // it is refused; a lost request of it may still be granted
	stepDoubt                // it is sent again by the same owner, since it may be granted
	stepRetry                // it is sent again after a pause
	stepWait                 // it is sent again when the store's clock has come to it
	stepHold                 // it is sent again when the run in its way is over
	stepCover                // it is sent again at once, and covers the gap before it
	stepTakeOver             // the orphan is taken over, then it is sent again
)

// A watch is what an answer says of the run that it names.
type watch uint8

const (
	watchNothing watch = iota
	watchRun           // probe the run if it may need another attempt or its end
	watchWaiting       // probe the waiting tick when the run it waits for is over
)

// actions are what follows from an answer.
type actions struct {
	step      step
	start     bool  // a run starts
	replace   bool  // this node's older runs of the job have to end
	settles   bool  // the run of the tick before needs no probe if this tick was granted
	watch     watch // the run that the answer names
	begin     bool  // ask for the oldest missed tick
	follow    bool  // go on with the next missed tick, if this was one
	open      bool  // the store does not know the job
	readClock bool  // this node's clock may be behind the store's
}

// decide returns what follows from an answer of the store. It is pure.
func decide(s situation, a *series.Answer) actions {
	switch a.Kind {
	case series.KindGranted:
		return actions{step: stepEnd, start: true, settles: true, follow: s.overlap == series.OverlapAllow}
	case series.KindOver, series.KindPassed:
		return actions{step: stepDrop, settles: true, watch: watchRun, follow: true}
	case series.KindWaiting:
		return actions{step: stepEnd, watch: watchWaiting, replace: s.overlap == series.OverlapReplace}
	case series.KindMissed, series.KindSkipped, series.KindPaused:
		return actions{step: stepEnd, follow: true}
	case series.KindUnknown: // also in a drain, since it may hold a lease
		return actions{step: stepDoubt, open: a.Err == nil}
	case series.KindAhead:
		return actions{step: stepDoubt}
	}
	if s.draining || s.stale && a.Kind == series.KindExpired {
		return actions{step: stepDrop} // it was not granted, and nothing else is wanted
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
		if s.settle { // sent without a slot, it would not wait for the takeover
			return actions{step: stepRetry}
		}
		return actions{step: stepTakeOver}
	}
	return actions{step: stepDoubt} // an answer of a newer version
}

// decideGap returns what follows if ticks before this one are undecided.
func decideGap(s situation) actions {
	switch {
	case s.covered:
		return actions{step: stepDrop}
	case s.backlog:
		return actions{step: stepDrop, begin: !s.chained}
	}
	return actions{step: stepCover}
}
