package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/signal"
)

// A store that answers one claim of a request is reachable: the errors of the others concern their
// jobs. Otherwise the request failed.
func TestVerdictOnARequest(t *testing.T) {
	gone, refused := errors.New("gone"), driver.NotDone(errors.New("refused"))
	unreadable := fmt.Errorf("job a: %w", driver.ErrUnreadable)
	for _, c := range []struct {
		errs    []error
		reached bool
		failed  error
	}{
		{[]error{nil, nil}, true, nil},
		{[]error{nil, refused}, true, nil},
		{[]error{gone, nil}, true, nil},
		{[]error{unreadable}, true, nil},
		{[]error{refused, unreadable}, true, nil},
		{[]error{gone, refused}, false, refused},
		{[]error{gone}, false, gone},
	} {
		answers := make([]claimer.Claimed, len(c.errs))
		for i, err := range c.errs {
			answers[i].Answer = &series.Answer{Err: err}
		}
		if reached, failed := verdict(answers); reached != c.reached || !errors.Is(failed, c.failed) {
			t.Errorf("%v: reached %v, failed with %v", c.errs, reached, failed)
		}
	}
}

// After an answer that shows that the node's clock may be behind the store's, the node beats at once: a beat reads the clock.
func TestAnswerThatReadsTheClock(t *testing.T) {
	for want, fx := range []claims.Effects{{}, {ReadClock: true}} {
		d := New(Config{Beat: signal.New()})
		d.apply(fx)
		if raised := len(d.cfg.Beat); raised != want {
			t.Errorf("after %+v %d beats are due, want %d", fx, raised, want)
		}
	}
}

// The node reads each partition whose runs the claims must know.
func TestAnswerThatReadsPartitions(t *testing.T) {
	var read []uint16
	d := New(Config{Learn: func(p uint16) { read = append(read, p) }})
	d.apply(claims.Effects{Learn: []uint16{2, 0}})
	if !slices.Equal(read, []uint16{2, 0}) {
		t.Errorf("the partitions %v are read, want 2 and 0", read)
	}
}
