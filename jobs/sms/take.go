package sms

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// ErrFenced is returned to a run that asks the outbox for something after a run
// with a higher fence has: its lease is over, and nothing was changed. It must
// stop.
var ErrFenced = errors.New("a later run has the outbox")

// A Holder is a run, by its id and its fence (a Run's ID and Fence). The fences
// must come from one job: those of two jobs do not compare.
type Holder struct {
	Run   string
	Fence int64
}

// maxFence is where numbers in Lua stop being exact: in the year 2255, in µs.
const maxFence = 1<<53 - 1

var runPattern = regexp.MustCompile(`\A[!-~]{1,512}\z`)

func (h Holder) validate() error {
	if !runPattern.MatchString(h.Run) || h.Run == "-" {
		return &FieldError{"run", quote(h.Run), "1 to 512 printable ASCII characters without spaces"}
	}
	if h.Fence < 1 || h.Fence > maxFence {
		return &FieldError{"fence", strconv.FormatInt(h.Fence, 10), "1 to 2^53 - 1"}
	}
	return nil
}

// A Piece is a message that a run has taken, to be sent and marked.
type Piece struct {
	Message Message
	Attempt int // 1, or more when it is tried again
	take    int64
}

// Take gives up to n messages (at most 500) to a run: first what was taken and
// never marked, by an older run or by this one, then what is due. A run marks what
// it was given before it takes again. An empty answer means that nothing is due.
// While the store does not answer Take asks again, for five seconds or until the
// context ends; after that it is not known whether the run has taken anything. See
// ErrFenced.
func (o *Outbox) Take(ctx context.Context, h Holder, n int) ([]Piece, error) {
	if err := h.validate(); err != nil {
		return nil, fmt.Errorf("sms: take: %w", err)
	}
	if n < 1 || n > maxBatch {
		return nil, fmt.Errorf("sms: take: %w", &FieldError{"n", strconv.Itoa(n), "1 to 500"})
	}
	keys := o.keys(keyBody, keyStatus, keyQueued, keyTaken, keyFence)
	flat, err := o.ask(ctx, takeScript, keys, h.Fence, h.Run, rand.Text(), n)
	if err == nil {
		flat, err = granted(h, flat)
	}
	var got []status
	if err == nil {
		got, err = parseRecords(flat)
	}
	if err != nil {
		return nil, fmt.Errorf("sms: take: %w", err)
	}
	pieces := make([]Piece, len(got))
	for i, s := range got {
		pieces[i] = Piece{Message: s.Message, Attempt: s.Attempts, take: s.take}
	}
	return pieces, nil
}

// granted returns what follows the word ok in an answer.
func granted(h Holder, answer []string) ([]string, error) {
	switch {
	case len(answer) > 0 && answer[0] == "ok":
		return answer[1:], nil
	case len(answer) == 3 && answer[0] == "fenced":
		return nil, fmt.Errorf("run %q with fence %d, the outbox has seen fence %s of run %q: %w",
			h.Run, h.Fence, answer[1], answer[2], ErrFenced)
	}
	return nil, fmt.Errorf("unknown answer of %d values", len(answer))
}
