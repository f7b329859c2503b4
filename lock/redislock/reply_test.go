package redislock_test

import (
	"strconv"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

const (
	testNow    = 1_795_207_852_937
	testNumber = testNow - 10
	testRun    = ";1795207852927|o|a/1|1795207852937400|1|1795207852930|1795207882937|0"
)

// The fields of a reply to a claim; a reply that is broken in any part is doubt.
func TestReadAnswer(t *testing.T) {
	c := claimOf("job", "a/1", testNumber)
	for text, want := range map[string]series.Kind{
		"g|1795207852927|0|0|0|" + testRun: series.KindGranted,
		"g|1795207852927|0|0|0|":           series.KindUnknown, // no run
		"g|1795207852927|0|0|0|;1795207852928|o|a/1|1795207852937400|1|1795207852930|1795207882937|0": series.KindUnknown, // another number
		"g|1795207852927|0|0|0|;1795207852927|o|b/1|1795207852937400|1|1795207852930|1795207882937|0": series.KindUnknown, // another owner
		"g|1795207852927|0|0|0|;1795207852927|d|a/1|1795207852937400|1|1795207852930|1795207882937|0": series.KindUnknown, // ended
		"g|1795207852927|0|0|0|;1795207852927|o|a/1|1795207852937400|1|1795207852930|1795207852937|0": series.KindUnknown, // over
		"g|1795207852927|0|0|0|;1795207852927|o|a/1|0|1|1795207852930|1795207882937|0":                series.KindUnknown, // no fence
		"g|1795207852927|0|0|0|" + testRun + "|x":                                                     series.KindUnknown, // a field more
		"g|1795207852927|0|0|" + testRun:                                                              series.KindUnknown, // a field less
		"g|1795207852927|0|0|0|" + testRun + "+":                                                      series.KindUnknown, // settled nothing
		"g|1795207852927|0|0|0|" + testRun + "+1|2|3|q":                                               series.KindUnknown, // no verdict
		"p|1795207852927|0|0|0|n":                                                                     series.KindPassed,
		"p|-1|0|0|0|n":                                                                                series.KindUnknown,
		"w|1795207852927|0|1|7|" + testRun:                                                            series.KindWaiting,
		"w|1795207852927|0|1|0|" + testRun:                                                            series.KindUnknown, // nothing to take it over with
		"h|1795207852927|0|0|0|":                                                                      series.KindUnknown, // held by nobody
		"q|1795207852927|0|0|0|":                                                                      series.KindUnknown,
		"":                                                                                            series.KindUnknown,
		"!OOM command not allowed":                                                                    series.KindUnknown,
	} {
		a := redislock.ReadAnswer(testNow, text, &c)
		if a.Kind != want || (want == series.KindUnknown) != (a.Err != nil) {
			t.Errorf("%q is read as %+v, want kind %d", text, a, want)
		}
	}
}

// The fields of a reply to the renewal of a run. A lease of another length than was asked for is doubt, as is any broken reply.
func TestReadRenewed(t *testing.T) {
	ref := runOf(claimOf("job", "a/1", testNumber), series.Answer{Fence: 7})
	ms := strconv.FormatInt(ref.TTL.Milliseconds(), 10)
	alive := series.RenewAnswer{Alive: true, Left: ref.TTL}
	replaced, cancelled := alive, alive
	replaced.Replaced, cancelled.Cancelled = true, true
	for text, want := range map[string]series.RenewAnswer{
		"0": {}, "1|" + ms + "|0": alive, "1|" + ms + "|1": replaced, "1|" + ms + "|2": cancelled,
	} {
		if got, ok := redislock.ReadRenewed(text, &ref); !ok || got != want {
			t.Errorf("%q is read as %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "1", "1|" + ms, "1|" + ms + "|", "1|" + ms + "|4", "1|" + ms + "|0|", "2|" + ms + "|0", "0|" + ms + "|0",
		"1|1" + ms + "|0", "1|1|0", "1|0|0", "1|-1|0", "1||0", "!OOM command not allowed",
	} {
		if got, ok := redislock.ReadRenewed(text, &ref); ok {
			t.Errorf("%q is read as %+v, want doubt", text, got)
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
		case a.Err != nil && a.Kind != series.KindUnknown:
			t.Errorf("%q is doubt and %+v", text, a)
		case a.Kind == series.KindGranted && (a.Number != c.Number || a.Fence <= 0 || a.Left <= 0 || a.State != series.RunOpen || a.Node != driver.NodeOf(owner)):
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
