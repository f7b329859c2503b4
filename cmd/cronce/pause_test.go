package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/exit"
)

// A stop that is planned: the jobs are paused and then all nodes die. No tick is overdue,
// and verify names the pause. When that is ended with no node alive, what is due from then on is overdue; the
// ticks of the pause are not.
func TestPlannedStop(t *testing.T) {
	server, url := newRedis(t)
	n := startNode(t, url, everySecond, "--name", "one")
	eventually(t, "a tick has run", func() bool { return strings.Contains(n.stderr.String()+n.stdout.String(), "run finished") })
	cronce(t, "pause", "--all", "--redis", url, "--reason", "the database is moved", "--who", "ann").want(t, exit.Fine, " is paused, by ann, from 2", ": the database is moved; ")
	cronce(t, "pause", "--all", "--redis", url, "--reason", "the same again").want(t, exit.Fine, " is paused already")
	n.signal(os.Kill)
	<-n.gone
	server.SetTime(time.Now().Add(time.Hour))
	r := cronce(t, "verify", "--redis", url)
	r.want(t, exit.Fine, "is paused, so that no tick of it is overdue", "paused")
	cronce(t, "doctor", "--redis", url).want(t, exit.Fine, "no tick is overdue")
	cronce(t, "resume", "--all", "--redis", url).want(t, exit.Fine, " is not paused, by ")
	cronce(t, "verify", "--redis", url).want(t, exit.Fine)
	server.SetTime(time.Now().Add(time.Hour + time.Minute))
	cronce(t, "verify", "--redis", url).want(t, exit.Failed, "OVERDUE", "no node lives")
}

// A job that is in no configuration any more stays overdue, and verify says that no node has it and
// what to do; paused it is overdue no longer.
func TestRemovedJob(t *testing.T) {
	cl := newCluster(t, 5, 0)
	cl.server.SetTime(time.Now().Add(time.Minute))
	if _, err := cl.Driver.Beat(t.Context(), "other", time.Hour); err != nil {
		t.Fatal(err)
	}
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Failed, "OVERDUE", "no node has this job", "cronce pause")
	cronce(t, "pause", "job", "--redis", cl.url, "--reason", "it was removed").want(t, exit.Fine, "job is paused")
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Fine, "job: is paused")
}

func TestPauseExitCodes(t *testing.T) {
	cl := newCluster(t, 1, 0)
	for _, c := range []struct {
		code int
		args []string
	}{
		{exit.WrongUsage, []string{"pause", "job"}},
		{exit.WrongUsage, []string{"pause", "job", "--reason", "no"}},
		{exit.WrongUsage, []string{"pause", "--reason", "for the night"}},
		{exit.WrongUsage, []string{"pause", "job", "--all", "--reason", "for the night"}},
		{exit.WrongUsage, []string{"pause", "nosuch", "--reason", "for the night"}},
		{exit.WrongUsage, []string{"resume"}},
		{exit.Fine, []string{"resume", "job"}},
	} {
		cronce(t, append(c.args, "--redis", cl.url)...).want(t, c.code)
	}
	cronce(t, "pause", "job", "--reason", "for the night", "--redis", "redis://127.0.0.1:1").want(t, exit.NotKnown)
}

// A pause has a reason, a caller and an end, which the store keeps; an operation that is
// repeated is done once; and a pause that ends earlier is not lengthened by accident.
func TestPauseUntil(t *testing.T) {
	cl := newCluster(t, 3, 0)
	now, err := cl.Driver.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until := now[0].Time.Add(10 * time.Minute).UTC().Format(time.RFC3339)
	pause := []string{"pause", "job", "--reason", "gateway maintenance", "--who", "ann@host", "--redis", cl.url}
	cronce(t, append(pause, "--until", until, "--op", "one")...).want(t, exit.Fine, "job is paused, by ann@host, from 2", " until "+until+": gateway maintenance; ", " ticks will be recorded as paused; the next that runs is ")
	cronce(t, append(pause, "--until", until, "--op", "one")...).want(t, exit.Fine, "job is paused, by ann@host")
	cronce(t, append(pause, "--until", "+1h", "--op", "one")...).want(t, exit.Refused, "the operation one was used for another change of job")
	cronce(t, append(pause, "--until", "+1m")...).want(t, exit.Fine, "job is paused already, by ann@host, since 2", " until "+until+": gateway maintenance")
	cronce(t, append(pause, "--until", "+1h")...).want(t, exit.Refused, "is paused already", "--replace")
	cronce(t, append(pause, "--until", "+1h", "--replace")...).want(t, exit.Fine, "job is paused, by ann@host")
	cronce(t, append(pause, "--until", until, "--op", "one")...).want(t, exit.Fine, "the operation one was done before, as change 1; since then pause by ann@host")
	cronce(t, append(pause, "--until", "yesterday")...).want(t, exit.WrongUsage, "--until")
	cronce(t, append(pause, "--until", "2020-01-01")...).want(t, exit.WrongUsage, "must be to come")
	cronce(t, "why", "job", "next", "--redis", cl.url).want(t, exit.Fine, "Due in ", "Paused by ann@host since ", ": gateway maintenance. Unless the job is resumed before")
	cronce(t, "resume", "job", "--reason", "it is back", "--who", "bob", "--redis", cl.url).want(t, exit.Fine, "job is not paused, by bob, from 2", ": it is back", "the next that runs is ")
	cronce(t, "resume", "job", "--redis", cl.url).want(t, exit.Fine, "job is not paused already")
	cronce(t, "audit", "--redis", cl.url).want(t, exit.Fine, "ann@host  pause", "running", "paused until "+until, "gateway maintenance", "bob")
	r := cronce(t, "audit", "--job", "job", "-o", "json", "--redis", cl.url)
	r.want(t, exit.Fine, `"number": 3`, `"action": "resume"`, `"who": "bob"`, `"op": "one"`)
	if strings.Count(r.stdout, `"number"`) != 3 {
		t.Errorf("the audit is %s", r.stdout)
	}
	cronce(t, "journal", "job", "--verdict", "control", "--redis", cl.url).want(t, exit.Fine, "change 1, number 1 of the audit; pause", "change 3, number 3 of the audit; resume")
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Fine)
}
