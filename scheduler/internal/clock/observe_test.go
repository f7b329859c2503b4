package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/clock"
)

// readings makes a reading of each server. Each clock is wrong by its offset; a round trip takes 20
// ms.
func readings(offs ...time.Duration) (rs []driver.ClockReading) {
	sent := time.Now()
	for _, off := range offs {
		rs = append(rs, driver.ClockReading{Sent: sent, Received: sent.Add(20 * time.Millisecond), Time: sent.Add(10*time.Millisecond + off).Round(0)})
	}
	return rs
}

// Observe handles a sequence of readings.
func TestObserve(t *testing.T) {
	type step struct {
		offs    []time.Duration // offsets of the servers' clocks
		off     time.Duration   // the resulting offset of the clock
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
		"of several the median counts":  {{ms(90_000, 0, 10), 10 * time.Millisecond, 0, false}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c clock.Clock
				if c.Ready() {
					t.Error("ready before the first reading")
				}
				for i, s := range steps {
					stepped, again := c.Observe(readings(s.offs...))
					off := time.Until(c.Now())
					if stepped != s.stepped || again != s.again || off != s.off {
						t.Errorf("reading %d: stepped %v, again %v, off by %v; want %v, %v, %v", i, stepped, again, off, s.stepped, s.again, s.off)
					}
					time.Sleep(10 * time.Second)
				}
				if !c.Ready() || c.Now().Location() != time.UTC {
					t.Error("not ready, or not in UTC")
				}
			})
		})
	}
}

// slowReading returns a reading of a clock with an offset, whose request and reply took the given
// times.
func slowReading(off, there, back time.Duration) []driver.ClockReading {
	sent := time.Now()
	return []driver.ClockReading{{Sent: sent, Received: sent.Add(there + back), Time: sent.Add(there + off).Round(0)}}
}

// The part of a difference that a slow round trip may explain is no step: only the rest counts.
func TestSlowReadings(t *testing.T) {
	type step struct {
		off, there, back time.Duration // the offset of the server's clock, and the durations of request and reply
		clock            time.Duration // the resulting offset of the clock, within a twentieth of a second
		stepped, again   bool
	}
	const s, ms = time.Second, time.Millisecond
	for name, steps := range map[string][]step{
		"replies of 1.8 s leave a clock that is right alone": {
			{0, 0, 0, 0, false, false}, {0, 0, 1800 * ms, 0, false, false}, {0, 0, 1800 * ms, 0, false, false}, {0, 0, 1800 * ms, 0, false, false}},
		"and so do requests of 1.8 s": {
			{0, 0, 0, 0, false, false}, {0, 1800 * ms, 0, 0, false, false}, {0, 1800 * ms, 0, 0, false, false}, {0, 1800 * ms, 0, 0, false, false}},
		"a clock that was read slowly is put right by the first quick reading": {
			{0, 0, 1800 * ms, -900 * ms, false, false}, {0, 0, 0, 0, false, false}},
		"and is not drift where drift was known before": {
			{0, 0, 0, 0, false, false}, {400 * ms, 0, 0, 50 * ms, false, false}, {400 * ms, 0, 0, 100 * ms, false, false}},
		"a step is found in slow readings if it is larger than they explain": {
			{0, 0, 0, 0, false, false}, {5 * s, 0, 1800 * ms, 0, false, true}, {5 * s, 900 * ms, 900 * ms, 0, false, true}, {5 * s, 0, 200 * ms, 4900 * ms, true, false}},
		"the quickest of the readings that agree counts": {
			{0, 0, 0, 0, false, false}, {5 * s, 0, 0, 0, false, true}, {5 * s, 0, 1800 * ms, 0, false, true}, {5 * s, 0, 1800 * ms, 5 * s, true, false}},
		"a second step needs three readings as well": {
			{0, 0, 0, 0, false, false}, {5 * s, 0, 0, 0, false, true}, {5 * s, 0, 0, 0, false, true}, {5 * s, 0, 0, 5 * s, true, false},
			{s, 0, 0, 5 * s, false, true}, {s, 0, 0, 5 * s, false, true}, {s, 0, 0, s, true, false}},
		"just below a step": {{0, 0, 0, 0, false, false}, {499 * ms, 0, 0, 50 * ms, false, false}},
		"just a step":       {{0, 0, 0, 0, false, false}, {503 * ms, 0, 0, 0, false, true}}, // 2 ms are drift
		"just below a step with a round trip of 200 ms": {{0, 0, 0, 0, false, false}, {599 * ms, 100 * ms, 100 * ms, 50 * ms, false, false}},
		"just a step with a round trip of 200 ms":       {{0, 0, 0, 0, false, false}, {603 * ms, 100 * ms, 100 * ms, 0, false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c clock.Clock
				for i, of := range steps {
					stepped, again := c.Observe(slowReading(of.off, of.there, of.back))
					off := time.Until(c.Now())
					if (stepped != 0) != of.stepped || again != of.again || (off-of.clock).Abs() > 10*ms {
						t.Fatalf("reading %d: stepped %v, again %v, off by %v; want %v, %v, %v", i, stepped, again, off, of.stepped, of.again, of.clock)
					}
					time.Sleep(10 * time.Second)
				}
			})
		})
	}
}
