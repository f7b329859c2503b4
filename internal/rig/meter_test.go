package rig_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/rig"
)

// Waits at the same time count once, and only waits that overlap the interval count.
func TestStarved(t *testing.T) {
	begin := time.Now()
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	for name, c := range map[string]struct {
		waits [][2]int // from, to
		want  int
	}{
		"none":             {nil, 0},
		"apart":            {[][2]int{{14, 15}, {11, 13}}, 3},
		"one in another":   {[][2]int{{11, 18}, {12, 14}}, 7},
		"overlapping":      {[][2]int{{13, 17}, {11, 15}}, 6},
		"over both ends":   {[][2]int{{8, 11}, {19, 22}}, 6},
		"before and after": {[][2]int{{5, 10}, {20, 25}}, 0},
	} {
		m := &rig.Meter{}
		for _, w := range c.waits {
			m.Waited(at(w[0]), at(w[1]).Sub(at(w[0])))
		}
		if got := m.Starved(at(10), at(20)); got != time.Duration(c.want)*time.Second {
			t.Errorf("%s: %v, want %d s", name, got, c.want)
		}
	}
}

// A wait counts before the meter has measured it, and after the meter has stopped there is none.
func TestStarvedUntilNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, begin := &rig.Meter{}, time.Now()
		m.Expect(begin.Add(time.Second))
		for _, want := range []time.Duration{0, 0, time.Second, 2 * time.Second} {
			if got := m.Starved(begin, time.Now()); got != want {
				t.Errorf("after %v: %v, want %v", time.Since(begin), got, want)
			}
			time.Sleep(time.Second)
		}
		m.Expect(time.Time{})
		if got := m.Starved(begin, time.Now()); got != 0 {
			t.Errorf("after its end: %v", got)
		}
	})
}
