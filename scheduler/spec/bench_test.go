package spec_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
)

var benchSpecs = []struct{ name, text string }{
	{"seconds", "0/5 * * * * ?"},
	{"daily", "CRON_TZ=America/New_York 30 9 * * *"},
	{"workdays", "CRON_TZ=America/New_York 0 9 * * 1-5"},
	{"leapday", "CRON_TZ=America/New_York 0 0 29 2 *"},
	{"lastfriday", "CRON_TZ=America/New_York 0 9 * * FRIL"},
	{"nearest", "CRON_TZ=America/New_York 0 9 15W,LW * ?"},
	{"year", "CRON_TZ=America/New_York 0 0 9 1 1 ? 2199"},
	{"every", "@every 90s"},
}

func BenchmarkParse(b *testing.B) {
	for _, bm := range benchSpecs {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := spec.Parse(bm.text, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	at := instant(b, "2026-07-09 14:45", time.UTC)
	for _, bm := range benchSpecs {
		b.Run(bm.name, func(b *testing.B) {
			s := parse(b, bm.text, nil)
			b.ReportAllocs()
			for b.Loop() {
				s.Next(at)
			}
		})
	}
}

func BenchmarkPrev(b *testing.B) {
	at := instant(b, "2026-07-09 14:45", time.UTC)
	for _, bm := range benchSpecs {
		b.Run(bm.name, func(b *testing.B) {
			s := parse(b, bm.text, nil)
			b.ReportAllocs()
			for b.Loop() {
				s.Prev(at)
			}
		})
	}
}

// BenchmarkNextMilli makes the same call repeatedly, as many jobs with one schedule do.
func BenchmarkNextMilli(b *testing.B) {
	s := parse(b, "CRON_TZ=America/New_York 30 9 * * *", nil)
	ms := instant(b, "2026-07-09 14:45", time.UTC).UnixMilli()
	b.ReportAllocs()
	for b.Loop() {
		s.NextMilli(ms)
	}
}

// BenchmarkSequence walks from tick to tick, over changes of the clock.
func BenchmarkSequence(b *testing.B) {
	s := parse(b, "CRON_TZ=America/New_York 30 9 * * *", nil)
	start := instant(b, "2026-01-01", time.UTC).UnixMilli()
	ms := start
	b.ReportAllocs()
	for b.Loop() {
		if ms = s.NextMilli(ms); ms > start+3*365*86_400_000 {
			ms = start
		}
	}
}
