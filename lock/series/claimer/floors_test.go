package claimer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
)

// A fenced store may answer with a fence of its own.
type fenced struct {
	*counted
	fence int64 // 0: the store's
}

func (s *fenced) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	answers := s.Store.Claim(ctx, cs)
	for i := range answers {
		if s.fence != 0 && answers[i].Kind == series.KindGranted {
			answers[i].Fence = s.fence
		}
	}
	return answers
}

// A claim that is granted with a fence more than a day ahead of the store's clock is
// doubt, so that no caller learns the fence.
func TestAbsurdFenceIsDoubt(t *testing.T) {
	const day = 24 * 60 * 60 * 1_000_000 // µs
	for _, c := range []struct {
		ahead int64
		want  series.Kind
	}{{day, series.KindGranted}, {day + 1000, series.KindUnknown}, {driver.MaxNumber, series.KindUnknown}} {
		t.Run(fmt.Sprint(c.ahead), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &fenced{counted: new(counted)}
				l := claimer.New(store, "a")
				cs := openSeries(t, l, store, 1)
				store.fence = min(time.Now().UnixMicro()+c.ahead, driver.MaxNumber)
				a := l.Claim(t.Context(), cs)[0]
				if a.Kind != c.want || errors.Is(a.Err, driver.ErrFence) == (c.want == series.KindGranted) {
					t.Errorf("the answer: %+v", a)
				}
			})
		})
	}
}
