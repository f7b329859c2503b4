package sms

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
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
// never marked, by an older run or by this one, then what is due: the urgent, the normal,
// the low, and last what the gateway has refused before. Whether a message has expired is for
// the caller to see. A run marks what it was given before it takes
// again. An empty answer means that nothing is due. While the gateway is paused and
// messages are due, the error is a *PausedError. A message that cannot be read is put
// aside, as Broken lists.
// While the store does not answer Take asks again, for five seconds or until the
// context ends; after that it is not known whether the run has taken anything. See
// ErrFenced.
func (o *Outbox) Take(ctx context.Context, h Holder, n int) ([]Piece, error) {
	t, err := o.take(ctx, h, asking{most: n, refused: n, lanes: lanes(1)})
	return t.pieces, err
}

// An asking is what a run wants to take.
type asking struct {
	most    int      // messages
	refused int      // of them, those from the lane of what was refused before
	lanes   []string // in their order
	held    []string // the ids that the run has in its hands, and is not given again
	try     bool     // a message also while a pause is in doubt
}

// A taking is what a run was given, the pauses since a message got through, and the store's
// time.
type taking struct {
	pieces []Piece
	pauses int
	left   time.Duration // of a pause in doubt, which the piece tries; 0: there is none
	clock  clock
}

// A clock knows the store's time, by our monotonic clock: not before when it was asked and
// not after when it had answered. The zero value knows nothing.
type clock struct {
	store           time.Time // what it said
	asked, answered time.Time
}

// now is between which two instants the store's time is.
func (c clock) now() (earliest, latest time.Time) {
	return c.store.Add(time.Since(c.answered)), c.store.Add(time.Since(c.asked))
}

// take is Take for a run that says more of what it wants.
func (o *Outbox) take(ctx context.Context, h Holder, a asking) (taking, error) {
	if err := h.validate(); err != nil {
		return taking{}, fmt.Errorf("sms: take: %w", err)
	}
	if a.most < 1 || a.most > maxBatch {
		return taking{}, fmt.Errorf("sms: take: %w", &FieldError{"n", strconv.Itoa(a.most), "1 to 500"})
	}
	keys := o.keys(keyBody, keyStatus, keyTaken, keyFence, keyBroken, keyDelivered, keySent, keyRepeated)
	args := []any{h.Fence, h.Run, rand.Text(), a.most, len(keys) + 1 + slices.Index(a.lanes, keyRetry), a.refused, a.try}
	for _, id := range a.held {
		args = append(args, id)
	}
	keys = append(keys, o.keys(a.lanes...)...)
	t := taking{clock: clock{asked: time.Now()}}
	flat, err := o.ask(ctx, takeScript, keys, args...)
	t.clock.answered = time.Now()
	if err == nil {
		flat, err = granted(h, flat)
	}
	if err == nil && len(flat) < 3 {
		err = errors.New("an answer without the time, the number of pauses and what is left of them")
	}
	var got []status
	if err == nil {
		got, err = parseRecords(flat[3:])
	}
	var now, left int64
	if err == nil {
		now, err = strconv.ParseInt(flat[0], 10, 64)
	}
	if err == nil {
		left, err = strconv.ParseInt(flat[2], 10, 64)
	}
	if err != nil {
		return taking{}, fmt.Errorf("sms: take: %w", err)
	}
	t.clock.store, t.pauses, t.left = time.UnixMilli(now), pausesOf(flat[1]), time.Duration(left)*time.Millisecond
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
	return o.take(ctx, h, a) // ends: each turn puts messages aside
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
