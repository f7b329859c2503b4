package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/internal/text"
)

// A Limit bounds how many runs go on at once, over all jobs that name it and all nodes. Its places
// are leases of one shared lock: see Key. The zero Limit is none.
type Limit struct {
	// Name is the identity of the limit in the cluster: [A-Za-z0-9][A-Za-z0-9._-]{0,49}.
	Name string `json:"name"`
	// Of is the number of places, 1 to 10,000. All jobs of a node must give a limit the same number.
	// While nodes of a rolling deploy give it different ones, the smallest number among the holders
	// counts.
	Of int `json:"of"`
}

// limitName leaves room for all other policies in the recorded text, which has at most driver.MaxKey bytes.
var limitName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$`)

// maxPlaces is the largest Limit.Of: stores read so many holders of a lock in one step.
const maxPlaces = 10_000

// Faults calls bad with the field, name or of, and the text of each fault. The zero Limit has none.
func (l Limit) Faults(bad func(field, text string)) {
	if l == (Limit{}) {
		return
	}
	if !limitName.MatchString(l.Name) {
		bad("name", fmt.Sprintf("is %s, must be %s", text.Quote(l.Name), limitName))
	}
	if l.Of < 1 || l.Of > maxPlaces {
		bad("of", fmt.Sprintf("is %d, must be 1 to %d", l.Of, maxPlaces))
	}
}

// Key returns the key of the shared lock whose leases are the places.
func (l Limit) Key() string { return "limit/" + l.Name }

// String returns the recorded text, such as "reports*3", or "" for the zero Limit.
func (l Limit) String() string {
	if l == (Limit{}) {
		return ""
	}
	return l.Name + "*" + strconv.Itoa(l.Of)
}

// parseLimit parses the result of String.
func parseLimit(part, value string, before error) (Limit, error) {
	name, of, _ := strings.Cut(value, "*")
	n, err := strconv.Atoi(of)
	l, wrong := Limit{name, n}, err != nil
	if l.Faults(func(string, string) { wrong = true }); wrong {
		return Limit{}, errors.Join(before, fmt.Errorf("policies: %q is no limit, such as reports*3", part))
	}
	return l, before
}

// longestJob bounds, in bytes, the name of the job in the note of a place.
const longestJob = driver.MaxNote - len("@2006-01-02T15:04:05.000Z#999")

// PlaceNote returns the note of the lease with which a run has its place: the run, job@tick or
// job@tick#shard. A hash replaces the end of a job's name that is too long for a note.
func PlaceNote(run string) string {
	job, rest, _ := strings.Cut(run, "@")
	if len(job) > longestJob {
		hash := fmt.Sprintf("~%08x", uint32(rendezvous.Hash(job)))
		job = job[:longestJob-len(hash)] + hash
	}
	return job + "@" + rest
}
