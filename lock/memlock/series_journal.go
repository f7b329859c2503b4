package memlock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cronce/cronce/lock/series"
)

const (
	defaultLines = 1000
	defaultTotal = 1_000_000
	fewLines     = 16 // lines that each series may keep, even if the others leave no room
)

func (o *Options) lines() int {
	if o.JournalLines == 0 {
		return defaultLines
	}
	return max(o.JournalLines, 2)
}

func (o *Options) total() int {
	if o.JournalTotal == 0 {
		return defaultTotal
	}
	return o.JournalTotal
}

// A journal is a ring of lines. It grows until it, or all journals together, are full; from then on
// the newest line replaces the oldest, whose index is first.
type journal struct {
	lines []line
	first int
	cut   bool   // older lines were deleted
	kept  []line // exceptions that are older than lines, oldest first
	since int64  // when the latest exception was written that was deleted; 0: none was
	texts []errorText

	changed int64 // the step of the pen that changed the series last
}

// An errorText is the text of an error in a journal, or the sheet of a sharded run, whose end has no
// error. Fence is the fence of the run, which ended once.
type errorText struct {
	fence int64
	text  string
}

// A pen writes to the journal of the current series, and counts for all series.
type pen struct {
	to     *journal
	lines  int // the bound of this journal
	budget int // the bound of all journals
	total  int // lines of all journals
	bytes  int // of the error texts of all journals
	words  vocabulary
	step   int64 // counts the changes of all series
}

// touch records that the current series changes.
func (p *pen) touch() {
	p.step++
	p.to.changed = p.step
}

// textBytes is how many bytes of error texts the journals may have together, for each line that
// they may have.
const textBytes = 64

// Append adds a line to the journal, or to its last line if the two fold. Each step that changes a
// series writes a line, except the renewal of a run.
func (p *pen) Append(line series.Line) {
	p.touch()
	j := p.to
	n := len(j.lines)
	if n > 0 && line.Verdict != series.VerdictRan { // a grant begins a line of its own
		last := &j.lines[(j.first+n-1)%n]
		if old := p.words.unpack(last); old.Fold(line) {
			*last = p.words.pack(&old)
			p.keepText(&line)
			return
		}
	}
	p.keepText(&line)
	packed := p.words.pack(&line)
	if all := n + len(j.kept); all < p.lines && (all < fewLines || p.total < p.budget) {
		j.lines = append(j.lines, packed)
		p.total++
		return
	}
	j.cut = true
	if p.retire(j.lines[j.first]) {
		j.lines[j.first] = packed
		j.first = (j.first + 1) % n
		return
	}
	j.lines = slices.Concat(j.lines[j.first+1:], j.lines[:j.first])
	for j.first = 0; !p.retire(j.lines[0]); {
		j.lines = j.lines[1:]
	}
	j.lines[0] = packed
	j.lines = slices.Concat(j.lines[1:], j.lines[:1])
}

// retire takes the oldest line out of the journal: an exception is kept, until a fifth of the journal
// are such exceptions. It reports whether the journal has one line less now.
func (p *pen) retire(old line) bool {
	j := p.to
	l := p.words.unpack(&old)
	if l.Ended != 0 && l.Shards > 0 { // the shards of its sheet are judged too
		l.Sheet = j.text(l.Fence)
	}
	if !l.Exception() {
		p.forget(&old)
		return true
	}
	j.kept = append(j.kept, old)
	if len(j.kept) <= series.MostExceptions(len(j.lines)+len(j.kept)-1) {
		return false
	}
	j.since = j.kept[0].at
	p.forget(&j.kept[0])
	j.kept = j.kept[1:]
	return true
}

// forget drops the error text of a line that is dropped.
func (p *pen) forget(old *line) {
	if old.ended != 0 {
		p.dropText(old.fence)
	}
}

// exceptions returns the exceptions that are older than the lines.
func (j *journal) exceptions(v *vocabulary) []series.Line {
	lines := make([]series.Line, len(j.kept))
	for i := range j.kept {
		lines[i] = v.unpack(&j.kept[i])
	}
	j.giveTexts(lines)
	return lines
}

// keepText keeps the text of the error in a line, or its sheet. If the texts of all journals are too many bytes,
// it first deletes the older texts of this journal.
func (p *pen) keepText(l *series.Line) {
	text := l.Error + l.Sheet
	if text == "" {
		return
	}
	j := p.to
	for len(j.texts) > 0 && p.bytes+len(text) > p.budget*textBytes {
		p.dropText(j.texts[0].fence)
	}
	j.texts = append(j.texts, errorText{l.Fence, strings.Clone(text)})
	p.bytes += len(text)
}

// dropText deletes the error text of the run with this fence, if there is one.
func (p *pen) dropText(fence int64) {
	j := p.to
	for i, t := range j.texts {
		if t.fence == fence {
			j.texts = slices.Delete(j.texts, i, i+1)
			p.bytes -= len(t.text)
			return
		}
	}
}

// newest returns the newest n lines, the oldest first, or all if n <= 0.
func (j *journal) newest(n int, v *vocabulary) []series.Line {
	all := len(j.lines)
	if n <= 0 || n > all {
		n = all
	}
	lines := make([]series.Line, n)
	for i := range n {
		lines[i] = v.unpack(&j.lines[(j.first+all-n+i)%all])
	}
	j.giveTexts(lines)
	return lines
}

// text returns the error text of the run with this fence, or "".
func (j *journal) text(fence int64) string {
	for _, t := range j.texts {
		if t.fence == fence {
			return t.text
		}
	}
	return ""
}

// giveTexts fills in the error texts of lines with an end.
func (j *journal) giveTexts(lines []series.Line) {
	if len(j.texts) == 0 {
		return
	}
	texts := make(map[int64]string, len(j.texts))
	for _, t := range j.texts {
		texts[t.fence] = t.text
	}
	for i := range lines {
		switch l := &lines[i]; {
		case l.Ended == 0:
		case l.Shards > 0:
			l.Sheet = texts[l.Fence]
		default:
			l.Error = texts[l.Fence]
		}
	}
}

// Journal implements [series.Journaled].
func (s *Store) Journal(ctx context.Context, key string, n int) (series.Journal, error) {
	if err := doubt(ctx, "read the journal of", key); err != nil {
		return series.Journal{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record(key)
	j := series.Journal{Key: key, Lines: r.journal.newest(n, &s.pen.words), Revisions: r.sightings.Sorted()}
	j.Truncated = r.journal.cut || len(j.Lines) < len(r.journal.lines)
	if n <= 0 {
		j.Exceptions, j.ExceptionsSince = r.journal.exceptions(&s.pen.words), r.journal.since
	}
	return j, nil
}

// Keys implements [series.Journaled].
func (s *Store) Keys(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lock: list the series: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.series)), nil
}
