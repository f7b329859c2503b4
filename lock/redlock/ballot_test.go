package redlock

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// The test evaluates the answers of three servers. A number alone is a yes with that fence; a text
// is another owner's lease, "fence|owner"; an empty text is no answer.
func TestBallot(t *testing.T) {
	for name, c := range map[string]struct {
		answers         []any
		held            int
		split, leads    bool
		rival           string
		votesOfTheRival int
	}{
		"all say one lease":             {[]any{"7|a", "7|a", "7|a"}, 3, false, false, "a", 3},
		"a majority says one lease":     {[]any{"7|a", "7|a", 9}, 2, false, false, "a", 2},
		"one owner under two fences":    {[]any{"7|a", "8|a", 9}, 1, true, false, "a", 2},
		"three owners":                  {[]any{"7|a", "8|b", 9}, 1, true, false, "a", 1},
		"two owners, and the last":      {[]any{"7|n", "8|p", 9}, 1, true, true, "n", 1},
		"one server is silent":          {[]any{"7|a", "8|b", ""}, 1, false, false, "a", 1},
		"one undone before it came":     {[]any{"7|a", nil, 9}, 1, false, false, "a", 1},
		"a majority under two fences":   {[]any{9, 10, "7|a"}, 1, false, true, "a", 1},
		"one fence of different owners": {[]any{"7|a", "7|b", "7|c"}, 1, true, false, "a", 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := ballot{majority: 2}
			for _, said := range c.answers {
				a := answer{code: no}
				switch said := said.(type) {
				case nil:
					a = answer{code: odd}
				case int:
					a = answer{code: yes, fence: int64(said)}
				case string:
					if a.about = said; said == "" {
						a.err = errLate
					}
				}
				b.answers = append(b.answers, a)
			}
			rival, votes := b.rival()
			if b.held() != c.held || b.split() != c.split || b.leads("m") != c.leads || rival != c.rival || votes != c.votesOfTheRival {
				t.Errorf("held %d, split %v, leads %v, rival %q with %d; want %+v", b.held(), b.split(), b.leads("m"), rival, votes, c)
			}
			if decided := b.held() >= 2; b.decided() != decided {
				t.Errorf("decided is %v", b.decided())
			}
		})
	}
}

// A key is free on servers where it was freed, and on servers that had forgotten it.
func TestFreeing(t *testing.T) {
	for name, c := range map[string]struct {
		answers []answer
		want    bool
	}{
		"none has answered":              {[]answer{{err: errLate}, {err: errLate}, {err: errLate}}, false},
		"a minority":                     {[]answer{{code: yes}, {err: errLate}, {code: no}}, false},
		"one freed, one had forgotten":   {[]answer{{code: yes}, {code: was}, {err: errLate}}, true},
		"one has it under another fence": {[]answer{{code: yes}, {code: odd}, {err: errLate}}, false},
	} {
		if got := (ballot{answers: c.answers, majority: 2}).freeing(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Servers whose answers are still awaited are silent, but have not failed: the release follows their
// answers. A server to which no request was sent is neither.
func TestSilentServers(t *testing.T) {
	b := ballot{majority: 2, answers: []answer{{code: yes}, {err: errLate}, {err: context.DeadlineExceeded}, {err: errNotAsked}}}
	if silent, failed := b.silent(), b.failed(); !slices.Equal(silent, []int{1, 2}) || !slices.Equal(failed, []int{2}) {
		t.Errorf("silent are %v and failed %v, want 1 and 2, and 2", silent, failed)
	}
}

// Proposals in the same microsecond differ; a proposal a day ahead of the servers is the highest
// one allowed.
func TestProposalsToTheMicrosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const now, day = int64(1_795_207_852_937_000), int64(24 * time.Hour / time.Microsecond)
		var d Driver
		d.fences.set(d.now(), now)
		for i, c := range []struct{ floor, want int64 }{
			{0, now}, {0, now + 1}, {now + 10, now + 11}, {0, now + 3}, {now + day - 1, now + day},
		} {
			if got, err := d.propose(t.Context(), &driver.Acquisition{Fence: c.floor}); got != c.want || err != nil {
				t.Errorf("%d: above %d it is %d, %v, want %d", i, c.floor, got, err, c.want)
			}
		}
		if got, err := d.propose(t.Context(), &driver.Acquisition{Fence: now + day}); !errors.Is(err, driver.ErrFence) {
			t.Errorf("%d, %v, want %v", got, err, driver.ErrFence)
		}
	})
}

// After the machine was suspended, every acquisition reads the time of the servers again, until it is
// known; a time that was read before stays unknown. A request that was on its way meanwhile is doubt.
func TestSuspendedMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Driver{options: Options{FenceMemory: time.Minute}, majority: 1}
		before := d.now()
		d.fences.set(before, before.wall.UnixMicro())
		if d.fences.old(d.now()) {
			t.Error("the time is read again though it is known")
		}
		d.slept = time.Hour
		for i := range 2 {
			if !d.fences.old(d.now()) {
				t.Errorf("acquisition %d does not read the time", i)
			}
		}
		for _, late := range []int64{0, before.wall.UnixMicro()} { // the answers to a request from before
			d.fences.set(before, late)
			if d.fences.set(d.now(), 0) {
				t.Errorf("the time from before is known after a failed reading, and %d", late)
			}
		}
		a, b := driver.Acquisition{TTL: time.Minute}, ballot{majority: 1, answers: []answer{{code: yes, fence: before.wall.UnixMicro(), left: time.Minute}}}
		if g, err := d.grant(t.Context(), &a, 1, b, time.Now(), before); !errors.Is(err, ErrNoQuorum) {
			t.Errorf("a fence proposed before is granted with %+v, %v", g, err)
		}
		time.Sleep(time.Second)
		now := d.now()
		d.fences.set(now, now.wall.UnixMicro())
		d.fences.set(before, before.wall.UnixMicro()) // its answers came late
		if got := d.fences.next(0); d.fences.old(d.now()) || got != now.wall.UnixMicro() {
			t.Errorf("the next fence is %d, want %d", got, now.wall.UnixMicro())
		}
	})
}

// The time of the servers is read again when it is old, by one caller at a time, and the known time is used
// until then, also after a failed reading.
func TestOldTimeIsReadByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Driver
		d.fences.set(d.now(), 1)
		time.Sleep(timeKept + 1)
		for i := range 2 {
			if first, second := d.fences.old(d.now()), d.fences.old(d.now()); !first || second {
				t.Errorf("reading %d: the first caller reads it: %v, the second: %v", i, first, second)
			}
			if !d.fences.set(d.now(), 0) {
				t.Errorf("reading %d failed: the time is unknown", i)
			}
		}
	})
}

// A reply that no lease can have is not an answer.
func TestReadReply(t *testing.T) {
	r := request{script: acquireScript}
	long := maxLeft + 1
	for _, c := range []struct {
		reply any
		ok    bool
	}{
		{[]any{int64(yes), strconv.FormatInt(driver.MaxNumber, 10), maxLeft}, true},
		{[]any{int64(yes), strconv.FormatInt(driver.MaxNumber+1, 10), int64(1)}, false},
		{[]any{int64(yes), "-1", int64(1)}, false},
		{[]any{int64(yes), "x", int64(1)}, false},
		{[]any{int64(yes), "1", long}, false},
		{[]any{int64(no), "1|a", int64(-1)}, false},
		{[]any{int64(odd), "", int64(0)}, true},
		{[]any{int64(was), "", int64(0)}, false},
		{[]any{int64(no), "1|a"}, false},
		{int64(was), true}, {int64(was) + 1, false}, {int64(-1), false}, {"OK", false}, {nil, false},
	} {
		if a, ok := r.read(c.reply); ok != c.ok {
			t.Errorf("%v: %+v, %v, want %v", c.reply, a, ok, c.ok)
		}
	}
}

// A server is awaited for a quarter of the TTL, and not beyond the option.
func TestPatience(t *testing.T) {
	d := Driver{options: Options{NodeTimeout: time.Second}}
	for ttl, want := range map[time.Duration]time.Duration{0: time.Second, 2 * time.Second: time.Second / 2, time.Minute: time.Second} {
		if got := d.patience(ttl); got != want {
			t.Errorf("TTL %v: %v, want %v", ttl, got, want)
		}
	}
}

// A time is two numbers, from which a fence can be computed.
func TestReadTime(t *testing.T) {
	for _, c := range []struct {
		reply any
		want  int64
	}{
		{[]any{"1795207852", "937001"}, 1_795_207_852_937_001},
		{[]any{"0", "0"}, 0},
		{[]any{"-1", "0"}, -1}, {[]any{"1", "x"}, -1}, {[]any{"1"}, -1}, {[]any{int64(1), "0"}, -1}, {"1", -1},
		{[]any{strconv.FormatInt(driver.MaxNumber/1_000_000-1, 10), "0"}, (driver.MaxNumber/1_000_000 - 1) * 1_000_000},
		{[]any{strconv.FormatInt(driver.MaxNumber/1_000_000, 10), "0"}, -1},
	} {
		if a, ok := readTime(c.reply); ok != (c.want >= 0) || ok && a.fence != c.want {
			t.Errorf("%v: %d, %v, want %d", c.reply, a.fence, ok, c.want)
		}
	}
}

// A lease lasts as long as a majority has it, and a key is free when it is free on a majority.
func TestBallotTimes(t *testing.T) {
	for name, c := range map[string]struct {
		yes, no     []time.Duration
		left, freed time.Duration
	}{
		"all have it":            {yes: []time.Duration{3, 1, 2}, left: 2},
		"a majority has it":      {yes: []time.Duration{3, 1}, left: 1},
		"a minority has it":      {yes: []time.Duration{3}, no: []time.Duration{1, 2}, freed: 1},
		"another has all":        {no: []time.Duration{3, 1, 2}, freed: 2},
		"another has a minority": {no: []time.Duration{3}},
	} {
		b := ballot{majority: 2, answers: make([]answer, 0, 3)}
		for _, left := range c.yes {
			b.answers = append(b.answers, answer{code: yes, left: left})
		}
		for _, left := range c.no {
			b.answers = append(b.answers, answer{code: no, left: left})
		}
		for len(b.answers) < 3 {
			b.answers = append(b.answers, answer{err: errLate})
		}
		if b.left() != c.left || b.freed() != c.freed {
			t.Errorf("%s: left %d, free in %d, want %d and %d", name, b.left(), b.freed(), c.left, c.freed)
		}
	}
}

// The test evaluates the answers of three servers to a release: y means freed, w free before, n
// held by another owner, - no answer yet.
func TestBallotOfARelease(t *testing.T) {
	for answers, want := range map[string]struct{ released, vanished bool }{
		"y--": {false, false},
		"yy-": {true, false},
		"yw-": {false, false}, // the third decides
		"yn-": {false, false},
		"ywy": {true, false},
		"yww": {true, true},
		"ywn": {true, true}, // two had forgotten it, and one has voted since
		"yyn": {true, false},
	} {
		b := ballot{majority: 2}
		for _, c := range answers {
			a := answer{code: map[rune]int64{'y': yes, 'w': was, 'n': no}[c]}
			if c == '-' {
				a.err = errLate
			}
			b.answers = append(b.answers, a)
		}
		if b.released() != want.released || b.vanished() != want.vanished {
			t.Errorf("%s: released %v, vanished %v; want %+v", answers, b.released(), b.vanished(), want)
		}
	}
}

// An owner that leads pauses least. The range of the pauses of another owner doubles with each loss: it begins at twice the time of
// the attempt, and ends at the longest pause. Of a thousand pauses one is in the last quarter of the range.
func TestBackoff(t *testing.T) {
	for _, c := range []struct {
		lost        int
		took, under time.Duration
	}{
		{-1, time.Second, minPause},
		{0, 0, minPause + 2*minPause},
		{0, 10 * time.Millisecond, minPause + 20*time.Millisecond},
		{1, 10 * time.Millisecond, minPause + 40*time.Millisecond},
		{9, 10 * time.Millisecond, minPause + maxPause},
		{0, time.Second, minPause + maxPause},
	} {
		var longest time.Duration
		for range 1000 {
			longest = max(longest, backoff(c.lost, c.took))
		}
		if longest >= c.under || longest < c.under*3/4 {
			t.Errorf("%d lost, an attempt of %v: the longest pause is %v, want just under %v", c.lost, c.took, longest, c.under)
		}
	}
}
