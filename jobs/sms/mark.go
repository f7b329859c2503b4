package sms

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Mark is the result of a piece.
type Mark struct {
	piece   Piece
	outcome string
	delay   time.Duration
	unsure  int
	reason  string
}

// Sent marks a piece as accepted by the gateway. Unsure is the number of earlier requests of this
// run that may have been accepted, too.
func (p Piece) Sent(unsure int) Mark { return Mark{piece: p, outcome: "sent", unsure: unsure} }

// Failed marks a piece as one that will never be sent.
func (p Piece) Failed(unsure int, reason string) Mark {
	return Mark{piece: p, outcome: "failed", unsure: unsure, reason: reason}
}

// Retry puts a piece back, due after a delay.
func (p Piece) Retry(after time.Duration, unsure int, reason string) Mark {
	return Mark{piece: p, outcome: "retry", delay: max(0, after), unsure: unsure, reason: reason}
}

// Wait puts a piece back, due after a delay, without counting an attempt: the gateway refused the
// sender and not this message.
func (p Piece) Wait(after time.Duration, unsure int, reason string) Mark {
	return Mark{piece: p, outcome: "wait", delay: max(0, after), unsure: unsure, reason: reason}
}

// Expired marks a piece that is not sent because Message.Until is over.
func (p Piece) Expired(unsure int) Mark { return Mark{piece: p, outcome: "expired", unsure: unsure} }

// Back puts a piece back for which no request was made; it is due as before.
func (p Piece) Back() Mark { return Mark{piece: p, outcome: "back"} }

// Mark records the results of up to 500 pieces that the run has taken, in one step. A repeated call
// changes nothing. While the store does not answer, Mark repeats the request for five seconds or
// until the context ends; after that it is unknown whether the pieces are marked. ErrFenced is also
// returned if the outbox has lost, as after a failover, that the run took a piece; the other pieces
// are marked then.
func (o *Outbox) Mark(ctx context.Context, h Holder, marks ...Mark) error {
	if err := h.validate(); err != nil {
		return fmt.Errorf("sms: mark: %w", err)
	}
	if len(marks) > maxBatch {
		return fmt.Errorf("sms: mark: %w", &FieldError{"marks", strconv.Itoa(len(marks)), "at most 500"})
	}
	if len(marks) == 0 {
		return nil
	}
	args := []any{h.Fence, h.Run}
	for _, m := range marks {
		args = append(args, m.piece.Message.ID, m.piece.take, m.outcome, m.delay.Milliseconds(), m.unsure, clean(m.reason, m.piece.Message.To))
	}
	keys := o.keys(keyStatus, keyFence, keyTaken, keySent, keyFailed, keyExpired, keyRepeated, keyRetry, keyQueued,
		keyDelivered, keyUndelivered)
	codes, err := o.runScript(ctx, markScript, keys, args...)
	if err == nil {
		codes, err = granted(h, codes)
	}
	if err == nil {
		err = refused(marks, codes)
	}
	if err != nil {
		return fmt.Errorf("sms: mark: %w", err)
	}
	return nil
}

// refused returns an error that names the pieces that did not belong to this run.
func refused(marks []Mark, codes []string) error {
	if len(codes) != len(marks) {
		return fmt.Errorf("%d answers to %d marks", len(codes), len(marks))
	}
	var ids []string
	for i, code := range codes {
		if code == "-1" {
			ids = append(ids, marks[i].piece.Message.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d messages are not this run's, the first is %q: %w", len(ids), len(marks), ids[0], ErrFenced)
}

// clean returns a reason as one printable line without the recipient.
func clean(reason, to string) string {
	const most = 200
	if digits := strings.TrimPrefix(to, "+"); digits != "" {
		reason = strings.ReplaceAll(reason, to, Mask(to))
		reason = strings.ReplaceAll(reason, digits, strings.TrimPrefix(Mask(to), "+"))
	}
	reason = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, reason)
	for len(reason) > most {
		_, size := utf8.DecodeLastRuneInString(reason)
		reason = reason[:len(reason)-size]
	}
	return reason
}
