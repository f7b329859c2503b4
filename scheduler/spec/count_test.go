package spec

import (
	"math"
	"testing"
	"time"
)

// Count costs one step for each month and each change of the clock, for any spec, because others
// wait while it runs.
func TestCountLooksAtMonths(t *testing.T) {
	from := time.Date(2020, time.January, 15, 10, 30, 0, 0, time.UTC)
	for _, text := range []string{"* * * * * *", "* * * * *", "0 9 * * 1-5", "0 0 29 2 *", "0 0 0 L * ? 2021-2100", "CRON_TZ=Europe/Berlin * * * * *"} {
		s, err := Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, years := range []int{1, 10} {
			c := tally{limit: math.MaxInt}
			periods := 0
			for at, end := from.Unix(), from.AddDate(years, 0, 0).Unix(); at <= end; periods++ {
				p := periodAt(s.zone, at)
				s.tallyPeriod(&c, p, at, min(end, p.end-1))
				at = p.end
			}
			if most := 12*years + periods; c.months == 0 || c.months > most || periods > 2*years+1 {
				t.Errorf("%q: %d steps and %d periods in %d years, want 1 to %d steps", text, c.months, periods, years, most)
			}
		}
	}
}
