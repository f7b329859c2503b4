package sms

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
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
// never marked, by an older run or by this one, then what is due, and of that first
// what the gateway has never refused. A run marks what it was given before it takes
// again. An empty answer means that nothing is due. While the gateway is paused and
// messages are due, the error is a *PausedError. A message that cannot be read is put
// aside, as Broken lists.
// While the store does not answer Take asks again, for five seconds or until the
// context ends; after that it is not known whether the run has taken anything. See
// ErrFenced.
func (o *Outbox) Take(ctx context.Context, h Holder, n int) ([]Piece, error) {
	t, err := o.take(ctx, h, n, false)
	return t.pieces, err
}

// A taking is what a run was given, and the pauses since a message got through.
type taking struct {
	pieces []Piece
	pauses int
}

// take is Take; with retries, what was refused before comes first.
func (o *Outbox) take(ctx context.Context, h Holder, n int, retries bool) (taking, error) {
	if err := h.validate(); err != nil {
		return taking{}, fmt.Errorf("sms: take: %w", err)
	}
	if n < 1 || n > maxBatch {
		return taking{}, fmt.Errorf("sms: take: %w", &FieldError{"n", strconv.Itoa(n), "1 to 500"})
	}
	lane := keyQueued
	if retries {
		lane = keyRetry
	}
	keys := o.keys(keyBody, keyStatus, keyQueued, keyTaken, keyFence, keyRetry, keyBroken)
	flat, err := o.ask(ctx, takeScript, keys, h.Fence, h.Run, rand.Text(), n, lane)
	if err == nil {
		flat, err = granted(h, flat)
	}
	if err == nil && len(flat) == 0 {
		err = errors.New("an answer without the number of pauses")
	}
	var got []status
	if err == nil {
		got, err = parseRecords(flat[1:])
	}
	if err != nil {
		return taking{}, fmt.Errorf("sms: take: %w", err)
	}
	t := taking{pauses: pausesOf(flat[0])}
	var aside []any
	for _, s := range got {
		if s.Broken != "" {
			aside = append(aside, s.Message.ID)
			continue
		}
		t.pieces = append(t.pieces, Piece{Message: s.Message, Attempt: s.Attempts, take: s.take})
	}
	if len(aside) == 0 {
		return t, nil
	}
	if err := o.putAside(ctx, h, aside); err != nil {
		return taking{}, fmt.Errorf("sms: take: put %d aside: %w", len(aside), err)
	}
	if len(t.pieces) > 0 {
		return t, nil
	}
	return o.take(ctx, h, n, retries) // ends: each turn puts messages aside
}

// putAside keeps messages from being taken again.
func (o *Outbox) putAside(ctx context.Context, h Holder, ids []any) error {
	answer, err := o.ask(ctx, asideScript, o.keys(keyTaken, keyBroken, keyFence), append([]any{h.Fence, h.Run}, ids...)...)
	if err == nil {
		_, err = granted(h, answer)
	}
	return err
}

// granted returns what follows the word ok in an answer.
func granted(h Holder, answer []string) ([]string, error) {
	switch {
	case len(answer) > 0 && answer[0] == "ok":
		return answer[1:], nil
	case len(answer) == 4 && answer[0] == "paused":
		left, err := strconv.ParseInt(answer[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("pause %s: %w", quote(answer[1]), err)
		}
		return nil, &PausedError{Left: time.Duration(left) * time.Millisecond, Pauses: pausesOf(answer[2]), Reason: clean(answer[3], "")}
	case len(answer) == 3 && answer[0] == "fenced":
		return nil, fmt.Errorf("run %q with fence %d, the outbox has seen fence %s of run %q: %w",
			h.Run, h.Fence, answer[1], answer[2], ErrFenced)
	}
	return nil, fmt.Errorf("unknown answer of %d values", len(answer))
}
