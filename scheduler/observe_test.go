package scheduler

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
)

// readings makes a reading of each server whose clock is off by so much, with a
// round trip of 20 ms.
func readings(offs ...time.Duration) (rs []lock.Reading) {
	sent := time.Now()
	for _, off := range offs {
		rs = append(rs, lock.Reading{Sent: sent, Received: sent.Add(20 * time.Millisecond), Time: sent.Add(10*time.Millisecond + off).Round(0)})
	}
	return rs
}

// What one reading after another does to the clock.
func TestObserve(t *testing.T) {
	type step struct {
		offs    []time.Duration // what the servers' clocks are off
		off     time.Duration   // what the clock is off then
		stepped time.Duration
		again   bool
	}
	ms := func(ms ...int) (ds []time.Duration) {
		for _, m := range ms {
			ds = append(ds, time.Duration(m)*time.Millisecond)
		}
		return ds
	}
	for name, steps := range map[string][]step{
		"the first reading is believed": {{ms(90_000), 90 * time.Second, 0, false}},
		"no reading changes nothing":    {{ms(70), 70 * time.Millisecond, 0, false}, {nil, 70 * time.Millisecond, 0, false}},
		"drift is followed":             {{ms(0), 0, 0, false}, {ms(40), 40 * time.Millisecond, 0, false}, {ms(-3), -3 * time.Millisecond, 0, false}},
		"as far as readings agree":      {{ms(0), 0, 0, false}, {ms(10), 6 * time.Millisecond, 0, false}},
		"and by 50 ms at most":          {{ms(0), 0, 0, false}, {ms(400), 50 * time.Millisecond, 0, false}, {ms(-449), 0, 0, false}},
		"a step needs three readings":   {{ms(0), 0, 0, false}, {ms(5000), 0, 0, true}, {ms(5100), 0, 0, true}, {ms(5050), 5050 * time.Millisecond, 5050 * time.Millisecond, false}},
		"also backward":                 {{ms(0), 0, 0, false}, {ms(-800), 0, 0, true}, {ms(-800), 0, 0, true}, {ms(-800), -800 * time.Millisecond, -800 * time.Millisecond, false}},
		"that agree":                    {{ms(0), 0, 0, false}, {ms(5000), 0, 0, true}, {ms(9000), 0, 0, true}, {ms(5000), 0, 0, true}, {ms(5000), 0, 0, true}, {ms(5000), 5 * time.Second, 5 * time.Second, false}},
		"in a row":                      {{ms(0), 0, 0, false}, {ms(5000), 0, 0, true}, {ms(5000), 0, 0, true}, {ms(0), 0, 0, false}, {ms(5000), 0, 0, true}, {ms(5000), 0, 0, true}},
		"of several the median counts":  {{ms(0, 10, 90_000), 10 * time.Millisecond, 0, false}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c clock
				if c.ready() {
					t.Error("ready before the first reading")
				}
				for i, s := range steps {
					stepped, again := c.observe(readings(s.offs...))
					off := time.Until(c.now())
					if stepped != s.stepped || again != s.again || off != s.off {
						t.Errorf("reading %d: stepped %v, again %v, off by %v; want %v, %v, %v", i, stepped, again, off, s.stepped, s.again, s.off)
					}
					time.Sleep(10 * time.Second)
				}
				if !c.ready() || c.now().Location() != time.UTC {
					t.Error("not ready, or not in UTC")
				}
			})
		})
	}
}
