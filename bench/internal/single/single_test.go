package single

import (
	"testing"
	"time"
)

func TestPhase(t *testing.T) {
	first := time.Unix(100, 0)
	p := phase{first, 10 * time.Second}
	for _, c := range []struct{ after, want time.Duration }{
		{-time.Minute, 0}, {-1, 0}, {0, 10 * time.Second}, {1, 10 * time.Second}, {10*time.Second - 1, 10 * time.Second}, {25 * time.Second, 30 * time.Second},
	} {
		if got := p.Next(first.Add(c.after)).Sub(first); got != c.want {
			t.Errorf("Next(first + %v) = first + %v, want %v", c.after, got, c.want)
		}
	}
}

// Periods are periods of the Unix epoch, which may differ from the periods of time.Truncate.
func TestUntilPeriod(t *testing.T) {
	s := Setup{Period: 4000 * time.Second}
	for _, c := range []struct{ at, want int64 }{{0, 0}, {1, 3999}, {3999, 1}, {4000, 0}, {400_000_001, 3999}} {
		if got := s.untilPeriod(time.Unix(c.at, 0)); got != time.Duration(c.want)*time.Second {
			t.Errorf("untilPeriod(%d) = %v, want %ds", c.at, got, c.want)
		}
	}
}
