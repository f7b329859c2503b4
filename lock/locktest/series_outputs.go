package locktest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var outputTests = []test{
	{"an output is kept as it is, whatever its bytes, and belongs to its series and number", outputKept},
	{"of an output that is too long the end is kept, in whole characters", outputCut},
	{"a later output of a number takes the place of the earlier one, one of a lower fence does not", outputNewest},
	{"the output of a shard that failed stays before those of shards that did not", outputFailed},
	{"of too many outputs, or of too many bytes, those of the lowest numbers go", outputBudget},
	{"outputs of one series that several nodes keep at once are all kept", outputTogether},
	{"no output changes a series, its journal or its list", outputDecidesNothing},
	{"bad outputs are refused, and a context that has ended is doubt", outputRefused},
}

func (s *fixture) keep(number, fence int64, text string) {
	s.Helper()
	if err := s.front().KeepOutput(s.ctx, series.Output{Key: s.key, Number: number, Fence: fence, Text: text}); err != nil {
		s.Fatalf("keep the output of %d: %v", number, err)
	}
}

func (s *fixture) output(number int64) series.Output {
	s.Helper()
	o, err := s.front().Output(s.ctx, s.key, number)
	if err != nil {
		s.Fatalf("read the output of %d: %v", number, err)
	}
	return o
}

// has fails the test unless these numbers have outputs, and none of the others below most has.
func (s *fixture) has(most int64, want ...int64) {
	s.Helper()
	var has []int64
	for n := int64(1); n <= most; n++ {
		if s.output(n) != (series.Output{}) {
			has = append(has, n)
		}
	}
	equal(s, "numbers with an output", len(has), len(want))
	for i := range want {
		equal(s, "a number with an output", has[i], want[i])
	}
}

func outputKept(s *fixture) {
	equal(s, "an output of a series that was never opened", s.output(1), series.Output{})
	s.open()
	equal(s, "an output that nobody kept", s.output(1), series.Output{})
	for i, text := range []string{
		"", "two\nlines\n", "\x00\x01\x1b[31mred\r\n\t\x7f", `<script>alert("1")</script> & 'q' \ % | ; {} $1 ?`,
		"\u202egnp.exe \u2028 \ufeff é 汉 🙂", strings.Repeat("\x00\x1b<é", series.MaxOutput/6),
	} {
		n := int64(i + 1)
		s.keep(n, 7, text)
		equal(s, "the output", s.output(n), series.Output{Key: s.key, Number: n, Fence: 7, Text: text})
	}
	s.keep(9, 7, "not \xff UTF-8")
	equal(s, "the output", s.output(9).Text, "not \uFFFD UTF-8")
	s.key = "job2"
	s.open()
	s.keep(9, 8, "of another series")
	equal(s, "the output", s.output(9).Text, "of another series")
	equal(s, "the output of another number", s.output(1), series.Output{})
	s.key = "job"
	equal(s, "the output", s.output(9).Fence, 7)
}

func outputCut(s *fixture) {
	s.open()
	s.keep(1, 1, "first"+strings.Repeat("x", series.MaxOutput-4)+"last")
	equal(s, "the output", s.output(1).Text, strings.Repeat("x", series.MaxOutput-4)+"last")
	s.keep(2, 1, strings.Repeat("é", series.MaxOutput)+"!")
	equal(s, "the output", s.output(2).Text, strings.Repeat("é", (series.MaxOutput-1)/2)+"!")
}

func outputNewest(s *fixture) {
	s.open()
	s.keep(1, 5, "first")
	s.keep(1, 5, "again")
	equal(s, "the output", s.output(1).Text, "again")
	s.keep(1, 6, "taken over")
	s.keep(1, 5, "late")
	equal(s, "the output", s.output(1), series.Output{Key: s.key, Number: 1, Fence: 6, Text: "taken over"})
	s.keep(1, driver.MaxNumber, "")
	equal(s, "the output", s.output(1), series.Output{Key: s.key, Number: 1, Fence: driver.MaxNumber})
}

func outputFailed(s *fixture) {
	s.open()
	for _, c := range []struct {
		fence  int64
		failed bool
		stays  int64
	}{{5, false, 5}, {4, true, 4}, {9, false, 4}, {3, true, 4}, {4, true, 4}, {7, true, 7}, {driver.MaxNumber, false, 7}, {driver.MaxNumber, true, driver.MaxNumber}} {
		o := series.Output{Key: s.key, Number: 1, Fence: c.fence, Failed: c.failed, Text: fmt.Sprint(c.fence)}
		if err := s.front().KeepOutput(s.ctx, o); err != nil {
			s.Fatalf("keep an output: %v", err)
		}
		equal(s, "the output", s.output(1), series.Output{Key: s.key, Number: 1, Fence: c.stays, Failed: c.stays != 5, Text: fmt.Sprint(c.stays)})
	}
	s.has(2, 1)
}

func outputBudget(s *fixture) {
	s.open()
	for n := int64(1); n <= series.MaxOutputs+2; n++ {
		s.keep(n, n, "x")
	}
	s.keep(1, 99, "too late") // there is no room for this number any more
	var want []int64
	for n := int64(3); n <= series.MaxOutputs+2; n++ {
		want = append(want, n)
	}
	s.has(series.MaxOutputs+2, want...)
	s.keep(100, 100, strings.Repeat("y", series.MaxOutput))
	s.keep(101, 101, strings.Repeat("y", series.MaxOutput))
	s.keep(102, 102, strings.Repeat("y", series.MaxOutput))
	s.keep(99, 99, strings.Repeat("y", series.MaxOutput-2))
	s.has(103, 21, 22, 99, 100, 101, 102)
	s.keep(103, 103, strings.Repeat("y", series.MaxOutput))
	s.has(104, 100, 101, 102, 103)
	s.keep(100, 101, "shorter")
	s.keep(50, 50, "there is room again")
	s.has(104, 50, 100, 101, 102, 103)
	s.key = "job2"
	s.open()
	s.keep(98, 1, "x")
	s.keep(99, 1, strings.Repeat("y", series.MaxOutput))
	s.keep(100, 1, strings.Repeat("y", series.MaxOutput-2))
	s.keep(101, 1, strings.Repeat("y", series.MaxOutput))
	s.keep(102, 1, strings.Repeat("y", series.MaxOutput))
	s.has(104, 98, 99, 100, 101, 102)
	s.keep(103, 1, strings.Repeat("y", series.MaxOutput))
	s.has(104, 100, 101, 102, 103) // 98 is gone, too, although there would be room for it
}

func outputTogether(s *fixture) {
	s.open()
	const callers = 4
	var errs [callers]error
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			errs[i] = s.front().KeepOutput(s.ctx, series.Output{Key: s.key, Number: int64(i + 1), Fence: 1, Text: "text"})
		})
	}
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		s.Fatal(err)
	}
	s.has(callers, 1, 2, 3, 4)
}

func outputDecidesNothing(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	before, lines := s.look(), len(s.lines())
	s.keep(run.Number, run.Fence, "text")
	s.keep(s.due(2), driver.MaxNumber, "of a number that nobody has claimed")
	after := s.look()
	equal(s, "the mark", after.Mark, before.Mark)
	equal(s, "the fence", after.Fence, before.Fence)
	equal(s, "lines", len(s.lines()), lines)
	s.ended(run, series.RunDone)
	equal(s, "the output after the end", s.output(run.Number).Text, "text")
	s.granted(s.ask(s.due(2), run.Number))
}

func outputRefused(s *fixture) {
	s.open()
	f := s.front()
	for argument, o := range map[string]series.Output{
		"key": {Key: "a\n", Number: 1, Fence: 1}, "number": {Key: s.key, Number: 0, Fence: 1}, "fence": {Key: s.key, Number: 1, Fence: driver.MaxNumber + 1},
	} {
		s.refused(f.KeepOutput(s.done(), o), argument)
	}
	_, err := f.Output(s.done(), "", 1)
	s.refused(err, "key")
	s.canceled("keep an output", f.KeepOutput(s.done(), series.Output{Key: s.key, Number: 1, Fence: 1}))
	_, err = f.Output(s.done(), s.key, 1)
	s.canceled("read an output", err)
}
