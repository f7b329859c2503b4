package inspect

import (
	"fmt"

	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/series"
)

// killedAttempts finds the attempts without an end, because their node died or lost its store:
// another node took the tick over, it was settled as lost, or its lease is over and no node has
// handled it yet.
func killedAttempts(lines []series.Line, s *series.Series) map[int]string {
	killed, open := map[int]string{}, map[int64]int{} // by tick
	for i := range lines {
		l := &lines[i]
		at, before := open[l.To]
		switch l.Verdict {
		case series.VerdictRan:
			if before {
				killed[at] = fmt.Sprintf("killed or cut off: %s took it over", l.Node)
			}
			delete(open, l.To)
			if l.Outcome == "" {
				open[l.To] = i
			}
		case series.VerdictLost:
			if before {
				killed[at] = "killed or cut off: its tick was lost"
			}
			delete(open, l.To)
		case series.VerdictEnded:
			delete(open, l.To)
		}
	}
	for i := range s.Runs {
		r := &s.Runs[i]
		if at, is := open[r.Number]; is && r.State == series.RunOpen && r.Shards == 0 && r.Until <= s.Now && lines[at].Fence == r.Fence {
			killed[at] = fmt.Sprintf("killed or cut off: its lease is over since %s, and no node has taken it over", terminal.RFC3339(r.Until))
		}
	}
	return killed
}

// lateMs returns how many milliseconds after its tick a line was granted. A run that was granted early is not late.
func lateMs(l *series.Line) int64 { return max(0, l.At-l.To) }

// lateOf returns how long after its tick a line was granted.
func lateOf(l *series.Line) string {
	if l.Verdict != series.VerdictRan {
		return "-"
	}
	return terminal.Milliseconds(fmt.Sprint(lateMs(l)))
}
