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

// ErrFenced is returned to a run after a run with a higher fence has used the outbox: its lease is
// over. Nothing was changed, and the run must stop.
var ErrFenced = errors.New("a later run has the outbox")

// A Holder identifies a run by its id and its fence (Run.ID and Run.Fence). All fences must come
// from one job, because the fences of two jobs cannot be compared.
type Holder struct {
	Run   string
	Fence int64
}

// maxFence is the largest number that Lua represents exactly: as µs, the year 2255.
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
	Attempt int // 1, or more if it is tried again
	take    int64
}

// Take returns up to n messages (at most 500) to a run. First come messages that were taken and
// never marked, by an older run or by this one; then the due messages; last the messages that the
// gateway has refused before. The caller checks whether a message has expired. A
// run must mark its messages before it takes more. An empty result means that nothing is due. If
// messages are due while the gateway is paused, the error is a *PausedError. An unreadable message
// is put aside and becomes Broken.
//
// While the store does not answer, Take repeats the request for five seconds or until the context
// ends; after that it is unknown whether the run has taken messages. See ErrFenced.
func (o *Outbox) Take(ctx context.Context, h Holder, n int) ([]Piece, error) {
	t, err := o.take(ctx, h, asking{most: n, refused: n})
	return t.pieces, err
}

// An asking has the parameters of a run's request for messages.
type asking struct {
	most         int      // number of messages
	refused      int      // of these, the ones from the lane of refused messages
	refusedFirst bool     // read that lane first, so that a full lane before it does not starve it
	held         []string // ids that the run already has, which are not returned again
	try          bool     // try a message while a pause is in doubt
}

// A taking is the reply to an asking: the messages, the number of pauses since a message got
// through, and the store's time.
type taking struct {
	pieces []Piece
	pauses int
	left   time.Duration // rest of a pause in doubt in which the piece is tried; 0: none
	clock  clock
}

// A clock is a time by the store's clock, and the time by this process's clock when it sent the request.
type clock struct{ store, asked time.Time }

// latest returns the latest time that the store's clock may show.
func (c clock) latest() time.Time { return c.store.Add(time.Since(c.asked)) }

// take is Take with all options.
func (o *Outbox) take(ctx context.Context, h Holder, a asking) (taking, error) {
	if err := h.validate(); err != nil {
		return taking{}, fmt.Errorf("sms: take: %w", err)
	}
	if a.most < 1 || a.most > maxBatch {
		return taking{}, fmt.Errorf("sms: take: %w", &FieldError{"n", strconv.Itoa(a.most), "1 to 500"})
	}
	keys := o.keys(keyBody, keyStatus, keyTaken, keyFence, keyBroken, keyDelivered, keySent, keyRepeated, keyQueued, keyRetry)
	args := []any{h.Fence, h.Run, rand.Text(), a.most, a.refused, a.refusedFirst, a.try}
	for _, id := range a.held {
		args = append(args, id)
	}
	t := taking{clock: clock{asked: time.Now()}}
	flat, err := o.runScript(ctx, takeScript, keys, args...)
	if err == nil {
		flat, err = granted(h, flat)
	}
	if err == nil && len(flat) < 3 {
		err = errors.New("a reply without the time, the number of pauses and the rest of the pause")
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
		if s.State == Broken {
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
	return o.take(ctx, h, a) // this recursion ends, because each round puts messages aside
}

// putAside excludes messages from later calls of take.
func (o *Outbox) putAside(ctx context.Context, h Holder, ids []any) error {
	answer, err := o.runScript(ctx, asideScript, o.keys(keyTaken, keyBroken, keyFence), append([]any{h.Fence, h.Run}, ids...)...)
	if err == nil {
		_, err = granted(h, answer)
	}
	return err
}

// granted returns the values after the word ok in a reply.
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
