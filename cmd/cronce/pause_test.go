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
	if _, err := cl.Front().Beat(t.Context(), "other", time.Hour); err != nil {
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
