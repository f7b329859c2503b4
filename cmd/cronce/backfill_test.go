package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock/series"
)

// pausedTicks returns the address of a SQLite with the job report, whose only ticks were paused, and of
// which a live node has the job and runs nothing.
func pausedTicks(t *testing.T) string {
	t.Helper()
	url := "sqlite:" + filepath.Join(t.TempDir(), "cronce.db")
	cronce(t, "migrate", "--store", url).want(t, exit.Fine)
	c, err := config.Read(config.Source{}, nil, func(c *config.Config) { c.Store = url })
	if err != nil {
		t.Fatal(err)
	}
	s, err := clients.NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	opened := s.Front().Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@every 1s", Zone: "UTC", Policies: "overlap:skip/misfire:once"}})[0]
	if opened.Err != nil {
		t.Fatal(opened.Err)
	}
	if _, err := s.Front().Beat(t.Context(), series.Beat{Node: "n", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	cronce(t, "pause", "report", "--reason", "for a moment", "--store", url).want(t, exit.Fine)
	eventually(t, "several ticks are due", func() bool {
		return s.Front().ReadSeries(t.Context(), []string{"report"})[0].Now > opened.Mark+8000
	})
	cronce(t, "resume", "report", "--store", url).want(t, exit.Fine)
	return url
}

// A backfill prints its plan, is made if the caller agrees, shows how much is left, and is stopped.
func TestBackfillCommand(t *testing.T) {
	t.Parallel()
	url := pausedTicks(t)
	from, to := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format("2006-01-02 15:04:05")
	backfill := func(args ...string) result {
		return cronce(t, append([]string{"backfill", "report", "--reason", "the outage", "--who", "ann", "--from", from, "--to", to, "--store", url}, args...)...)
	}
	plan := []string{"ticks of report would be repeated, one after another", " paused: 20", ", …, 20", "room: no run starts within 500ms before the next tick"}
	backfill("--dry-run", "--room", "500ms").want(t, exit.Fine, plan...)
	backfill("--dry-run").want(t, exit.Fine, "so how long one takes is not known", "no two ticks of the spec are far enough apart for the run of a tick, 0s, and the room, 1s: nothing would start")
	backfill("--room", "500ms").want(t, exit.WrongUsage, "nothing was done: without a terminal to ask on, --yes is needed")
	made := backfill("--room", "500ms", "--yes", "--op", "mine")
	made.want(t, exit.Fine, append(plan, "the backfill of report is made, by ann: the outage")...)
	backfill("--room", "500ms", "--yes", "--op", "mine").want(t, exit.Fine, "the backfill of report is made, by ann: the outage")
	backfill("--room", "400ms", "--yes", "--op", "mine").want(t, exit.Refused, "the operation mine was used for another change of report")
	backfill("--yes").want(t, exit.Refused, "report has a backfill that is not over")
	left := regexp.MustCompile(`(?m)^backfill: [1-9]\d* left, and one for the tick of 20`)
	if shown := cronce(t, "status", "jobs", "show", "report", "--store", url); !left.MatchString(shown.stdout) {
		t.Errorf("the job is shown without its backfill: %s", shown.stdout)
	}
	stop := []string{"backfill", "report", "--stop", "--reason", "enough", "--store", url}
	cronce(t, stop...).want(t, exit.Fine, "the backfill of report is stopped, by ", "runs that are alive and go on: 0")
	cronce(t, stop...).want(t, exit.Fine, "no backfill of report goes on")
	cronce(t, "audit", "--store", url).want(t, exit.Fine, "backfill of ", "stopped the backfill", "the outage", "enough")
	cronce(t, "pause", "report", "--reason", "for the night", "--store", url).want(t, exit.Fine)
	backfill("--dry-run").want(t, exit.Refused, "report is paused, by ", "give --while-paused")
	backfill("--dry-run", "--while-paused").want(t, exit.Fine, "would be repeated")
	backfill("--dry-run", "--while-paused", "--from", to).want(t, exit.Fine, "no tick of report from ")
}

// Arguments of a backfill that name nothing are refused, with the flag, its value and the allowed values.
func TestBackfillArguments(t *testing.T) {
	t.Parallel()
	from, to := []string{"--from", "2026-11-23T02:00:00Z"}, []string{"--to", "2026-11-23T06:00:00Z"}
	for want, args := range map[string][]string{
		"got 0 arguments, want the name of one job": {},
		"--reason is missing":                       {"report"},
		"--from is missing, or --stop":              append([]string{"report", "--reason", "the outage"}, to...),
		"--to is missing":                           append([]string{"report", "--reason", "the outage"}, from...),
		`--from is "soon", must be RFC 3339`:        {"report", "--reason", "the outage", "--from", "soon", "--to", "later"},
		"--to is 2026-11-23T02:00:00Z, must be not before from, 2026-11-23T06:00:00Z": {"report", "--reason", "the outage", "--from", to[1], "--to", from[1]},
		`--only is "good", must be one of ["never-ran" "failed" "all"]`:               append(append([]string{"report", "--reason", "the outage", "--only", "good"}, from...), to...),
		"--room is -1s, must be 1ms to 24h0m0s":                                       append(append([]string{"report", "--reason", "the outage", "--room", "-1s"}, from...), to...),
		"--room is 0s, must be 1ms to 24h0m0s":                                        append(append([]string{"report", "--reason", "the outage", "--room", "0"}, from...), to...),
		"--stop ends the whole backfill: give it without --from":                      append([]string{"report", "--reason", "the outage", "--stop"}, from...),
		`reason is "no", must be 3 to 500 characters of printable UTF-8`:              {"report", "--reason", "no", "--stop"},
	} {
		cronce(t, append([]string{"backfill"}, args...)...).want(t, exit.WrongUsage, want)
	}
}

// A local time of a backfill is in UTC, whichever zone the machine has.
func TestBackfillReadsTimesInUTC(t *testing.T) {
	t.Parallel()
	c := startWith(t, []string{"TZ=Asia/Shanghai"}, "backfill", "report", "--reason", "the outage", "--from", "2026-11-23 06:00", "--to", "2026-11-23 02:00")
	<-c.gone
	if got, want := c.stderr.String(), "--to is 2026-11-23T02:00:00Z, must be not before from, 2026-11-23T06:00:00Z"; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
