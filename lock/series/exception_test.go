package series

import "testing"

// Lines of runs that ended well, and of what policies decide now and then, are no exceptions.
func TestException(t *testing.T) {
	const minute = 60_000
	for _, c := range []struct {
		name string
		line Line
		want bool
	}{
		{"opened", Line{Verdict: VerdictOpened}, false},
		{"a change", Line{Verdict: VerdictControl}, false},
		{"granted", Line{Verdict: VerdictRan, Attempt: 1}, false},
		{"ok", Line{Verdict: VerdictRan, Attempt: 1, Outcome: OutcomeOK}, false},
		{"nothing to do", Line{Verdict: VerdictRan, Attempt: 1, Outcome: OutcomeSkipped}, false},
		{"replaced", Line{Verdict: VerdictRan, Attempt: 1, Outcome: OutcomeReplaced}, false},
		{"a drain", Line{Verdict: VerdictRan, Attempt: 1, Outcome: OutcomeInterrupted}, false},
		{"failed", Line{Verdict: VerdictRan, Attempt: 1, Outcome: OutcomeFailed}, true},
		{"panic", Line{Verdict: VerdictRan, Attempt: 1, Outcome: OutcomePanic}, true},
		{"timeout", Line{Verdict: VerdictRan, Attempt: 1, Outcome: OutcomeTimeout}, true},
		{"failed, in a line of its own", Line{Verdict: VerdictEnded, Attempt: 1, Outcome: OutcomeFailed}, true},
		{"a takeover that ended well", Line{Verdict: VerdictRan, Attempt: 2, Outcome: OutcomeOK}, true},
		{"the end of a takeover", Line{Verdict: VerdictEnded, Attempt: 2, Outcome: OutcomeOK}, true},
		{"shards that ended well", Line{Verdict: VerdictRan, Attempt: 1, Outcome: OutcomeOK, Shards: 2, Sheet: "a;b|ok+,1,0,2,0,5;ok+,1,1,3,2,9"}, false},
		{"a shard that was taken over and ended well", Line{Verdict: VerdictRan, Attempt: 1, Outcome: OutcomeOK, Shards: 2, Sheet: "a;b|ok+,1,0,1,0,5;ok+,2,1,2,0,5"}, true},
		{"the end of a run with such a shard", Line{Verdict: VerdictEnded, Attempt: 1, Outcome: OutcomeOK, Shards: 1, Sheet: "a|ok+,10,0,1,0,5"}, true},
		{"the end of a run that ended well", Line{Verdict: VerdictEnded, Attempt: 1, Outcome: OutcomeOK}, false},
		{"lost", Line{Verdict: VerdictLost}, true},
		{"missed", Line{Verdict: VerdictMissed}, true},
		{"paused", Line{Verdict: VerdictPaused}, true},
		{"waits", Line{Verdict: VerdictWaiting}, false},
		{"superseded", Line{Verdict: VerdictSuperseded}, false},
		{"one number skipped", Line{Verdict: VerdictSkipped, To: 5 * minute}, false},
		{"many numbers skipped in a short time", Line{Verdict: VerdictSkipped, Between: VerdictSkipped, To: minute - 1}, false},
		{"many numbers skipped behind a long run", Line{Verdict: VerdictSkipped, Between: VerdictSkipped, To: minute}, true},
	} {
		if got := c.line.Exception(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
