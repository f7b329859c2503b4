package redislock_test

import (
	"testing"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

const (
	testNow    = 1_795_207_852_937
	testNumber = testNow - 10
	testRun    = ";1795207852927|o|a/1|1795207852937400|1|1795207852930|1795207882937|0"
)

// What a reply says of a claim; a reply that is broken in any part is doubt.
func TestReadAnswer(t *testing.T) {
	c := claimOf("job", "a/1", testNumber)
	for text, want := range map[string]lock.Kind{
		"g|1795207852927|0|0|0|" + testRun: lock.Granted,
		"g|1795207852927|0|0|0|":           lock.Unknown, // no run
		"g|1795207852927|0|0|0|;1795207852928|o|a/1|1795207852937400|1|1795207852930|1795207882937|0": lock.Unknown, // another number
		"g|1795207852927|0|0|0|;1795207852927|o|b/1|1795207852937400|1|1795207852930|1795207882937|0": lock.Unknown, // another owner
		"g|1795207852927|0|0|0|;1795207852927|d|a/1|1795207852937400|1|1795207852930|1795207882937|0": lock.Unknown, // ended
		"g|1795207852927|0|0|0|;1795207852927|o|a/1|1795207852937400|1|1795207852930|1795207852937|0": lock.Unknown, // over
		"g|1795207852927|0|0|0|;1795207852927|o|a/1|0|1|1795207852930|1795207882937|0":                lock.Unknown, // no fence
		"g|1795207852927|0|0|0|" + testRun + "|x":                                                     lock.Unknown, // a field more
		"g|1795207852927|0|0|" + testRun:                                                              lock.Unknown, // a field less
		"g|1795207852927|0|0|0|" + testRun + "+":                                                      lock.Unknown, // settled nothing
		"g|1795207852927|0|0|0|" + testRun + "+1|2|3|q":                                               lock.Unknown, // no verdict
		"p|1795207852927|0|0|0|n":                                                                     lock.Passed,
		"p|-1|0|0|0|n":                                                                                lock.Unknown,
		"w|1795207852927|0|1|7|" + testRun:                                                            lock.Waiting,
		"w|1795207852927|0|1|0|" + testRun:                                                            lock.Unknown, // nothing to take it over with
		"h|1795207852927|0|0|0|":                                                                      lock.Unknown, // held by nobody
		"q|1795207852927|0|0|0|":                                                                      lock.Unknown,
		"":                                                                                            lock.Unknown,
		"!OOM command not allowed":                                                                    lock.Unknown,
	} {
		a := redislock.ReadAnswer(testNow, text, &c)
		if a.Kind != want || (want == lock.Unknown) != (a.Err != nil) {
			t.Errorf("%q is read as %+v, want kind %d", text, a, want)
		}
	}
}

// However a reply is broken, it never grants but to the owner that asked, for
// the number that it asked for, until a deadline ahead.
func FuzzReadAnswer(f *testing.F) {
	f.Add("g|1795207852927|0|0|0|"+testRun+"+1|2|3|l", "a/1")
	f.Add("w|1795207852927|0|1|7|"+testRun, "b/1")
	f.Add("!OOM", "a/1")
	f.Fuzz(func(t *testing.T, text, owner string) {
		c := claimOf("job", owner, testNumber)
		a := redislock.ReadAnswer(testNow, text, &c)
		switch {
		case a.Err != nil && a.Kind != lock.Unknown:
			t.Errorf("%q is doubt and %+v", text, a)
		case a.Kind == lock.Granted && (a.Number != c.Number || a.Fence <= 0 || a.Left <= 0 || a.State != lock.RunOpen || a.Node != lock.NodeOf(owner)):
			t.Errorf("%q grants %+v", text, a)
		}
	})
}

// A line that is read is one that the scripts could have written.
func FuzzReadLine(f *testing.F) {
	f.Add("1795207852937|r|1|2|m||n|r1|7|1|ok|1795207852990")
	f.Add("1795207852937|s|1|2||overlap|n|r1||||")
	f.Fuzz(func(t *testing.T, text string) {
		l, ok := redislock.ReadLine(text)
		if ok && (l.Verdict == "" || l.At < 0 || l.From < 0 || l.To < 0 || l.Fence < 0 || l.Attempt < 0 || l.Ended < 0) {
			t.Errorf("%q is read as %+v", text, l)
		}
	})
}
