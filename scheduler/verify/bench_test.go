package verify_test

import (
	"testing"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// daily returns a journal of 1,000 lines over a day of ticks, one each second.
func daily(specs ...string) series.Journal {
	j := series.Journal{Key: "job", Lines: []series.Line{opening()}}
	for _, text := range specs {
		j.Revisions = append(j.Revisions, sighting(text, 0, 999*86))
	}
	j.Lines[0].Revision = specs[0]
	for i := range 999 {
		from, to := float64(i*86), float64((i+1)*86)
		l := line(series.VerdictRan, to, from, to)
		l.Revision, l.Outcome, l.Between = specs[0], series.OutcomeOK, series.VerdictMissed
		j.Lines = append(j.Lines, l)
	}
	return j
}

func BenchmarkDay(b *testing.B) {
	for name, j := range map[string]series.Journal{
		"one spec":  daily("0/1 * * * * *"),
		"two specs": daily("0/1 * * * * *", "0/2 * * * * *"),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if r := verify.Job(j, verify.Options{}); !r.OK() {
					b.Fatal(r.Violations)
				}
			}
		})
	}
}
