package job

import (
	"sync"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
)

// Revisions caches the revisions of specs in the current year, which cost too much to compute for
// each claim. The zero Revisions is ready to use. It is safe for concurrent use.
type Revisions struct {
	mu    sync.Mutex
	year  Year
	texts map[*spec.Schedule]string
}

// Of returns the revision of a spec in the year of now, which is in Unix milliseconds.
func (r *Revisions) Of(s *spec.Schedule, now int64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.year.Changed(now) {
		r.texts = map[*spec.Schedule]string{}
	}
	text := r.texts[s]
	if text == "" {
		text = s.Revision(time.UnixMilli(now))
		r.texts[s] = text
	}
	return text
}

// A Year is the UTC year of the instant seen last. The zero Year has seen no instant. It is not
// safe for concurrent use.
type Year struct{ from, until int64 }

// Changed reports whether now, in Unix milliseconds, lies in another year than the instant seen
// before.
func (y *Year) Changed(now int64) bool {
	if now >= y.from && now < y.until {
		return false
	}
	year := time.UnixMilli(now).UTC().Year()
	y.from, y.until = beginning(year), beginning(year+1)
	return true
}

func beginning(year int) int64 {
	return time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
}
