package ops

import (
	"strings"

	"github.com/cronce/cronce/lock/series"
)

// words keep each text of the journals in memory once: most lines have the same few. A text that was read is a part of the
// reply of the store, which would stay in memory as a whole.
type words map[string]string

// mostWords bounds the texts that are known, because each error may be another one.
const mostWords = 5_000

// in replaces the texts of a journal.
func (w words) in(j *series.Journal) {
	for _, lines := range [][]series.Line{j.Lines, j.Exceptions} {
		for i := range lines {
			l := &lines[i]
			for _, text := range []*string{(*string)(&l.Verdict), (*string)(&l.Between), &l.Reason, &l.Node, &l.Revision, &l.Outcome, &l.Error, &l.Sheet} {
				*text = w.once(*text)
			}
		}
	}
	for i := range j.Revisions {
		r := &j.Revisions[i]
		for _, text := range []*string{&r.Revision, &r.Spec, &r.Zone, &r.Policies, &r.Node} {
			*text = w.once(*text)
		}
	}
}

// once returns the text that is kept.
func (w words) once(text string) string {
	if text == "" {
		return ""
	}
	if known, ok := w[text]; ok {
		return known
	}
	if len(w) >= mostWords {
		clear(w)
	}
	text = strings.Clone(text)
	w[text] = text
	return text
}
