package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/inspect"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/series"
)

func TestDoctor(t *testing.T) {
	server := redisserver.Start(t)
	url := "redis://" + server.Addr()
	r := cronce(t, "doctor", "--redis", url)
	r.want(t, exit.Fine, "ok      version", "the server is a master", "a round trip takes", "clock agrees", "none is in use",
		"no tick of the future is decided (0 jobs)", "warn    persistence", "set appendonly to yes")
	server.Tell("SET cronce:v1:mark:{cronce}:x 1")
	cronce(t, "doctor", "--redis", url).want(t, exit.Fine, "in use: this one, cronce (0 jobs, 0 locks)")
	var findings []inspect.Finding
	r = cronce(t, "doctor", "--redis", url, "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &findings); err != nil || len(findings) < 8 {
		t.Errorf("%v: %s", err, r.stdout)
	}
	for _, f := range findings {
		if f.Level == "" || f.Topic == "" || f.Text == "" || f.Level != "ok" && f.Fix == "" {
			t.Errorf("%+v", f)
		}
	}
}

// Doctor refuses a server at maxmemory, which takes no writes, and verify names this besides the overdue ticks. The request of a
// lock is doubt there, so that a lock waits for memory.
func TestDoctorOfAFullServer(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	url := "redis://" + server.Addr()
	openJob(t, url)()
	server.Tell("CONFIG SET maxmemory 500000")
	const full = "of maxmemory 500000 bytes are used: the server takes no writes"
	cronce(t, "doctor", "--redis", url).want(t, exit.Failed, "ok      eviction", "refuse  memory", full, "raise maxmemory")
	cronce(t, "verify", "--redis", url).want(t, exit.Failed, "store risk: memory: ", full)
	cronce(t, "lock", "key", "--try", "--redis", url, "--", "true").want(t, exit.NotKnown, "the server is at maxmemory and takes no writes")
	server.Tell("CONFIG SET maxmemory 1gb")
	cronce(t, "doctor", "--redis", url).want(t, exit.Failed, "ok      memory", "of maxmemory 1073741824 bytes are used\n")
}

// A mark in the store's future stops its job. Doctor names it, and the way to rewind it. The
// machine's clock is wrong by as much, which is only a warning.
func TestDoctorFindsMarkAhead(t *testing.T) {
	m, url := newRedis(t)
	s := storeAt(t, url, func(*config.Config) {})
	m.SetTime(time.Now().Add(time.Hour))
	if o := s.Front().Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n", Revision: "r", Spec: "@daily", Zone: "UTC"}}); o[0].Err != nil {
		t.Fatal(o[0].Err)
	}
	m.SetTime(time.Now().Add(-time.Hour))
	cronce(t, "doctor", "--redis", url).want(t, exit.Failed,
		`refuse  marks`, `job "job" is decided until`, "2h0m0s from the server's now", "or rewind: stop all nodes",
		"warn    clock", "ahead of the server's")
}

// Of many nodes and jobs doctor names the first, and counts the rest.
func TestDoctorCounts(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 1, 0)
	for i := range 12 {
		open := series.OpenRequest{Key: fmt.Sprintf("job%02d", i), Node: "n", Revision: "r", Spec: "@every 1s", Zone: "UTC"}
		if a := cl.Front().Open(t.Context(), []series.OpenRequest{open})[0]; a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	for i := range 7 {
		node := fmt.Sprintf("web-%d", i)
		if _, err := cl.Front().Beat(t.Context(), series.Beat{Node: node, TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			cronce(t, "doctor", "--redis", cl.url).want(t, exit.Fine, "ok      nodes        1 live: web-0\n", "this one, cronce (13 jobs, 0 locks)\n", "no tick of the future is decided (13 jobs)\n")
		}
		if err := cl.Front().Leave(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	cl.server.SetTime(time.Now().Add(time.Minute))
	cronce(t, "doctor", "--redis", cl.url).want(t, exit.Failed, "and 2 more went within a day\n", " overdue      and 8 more\n", "start nodes that have these jobs")
	for i := range 12 {
		key := fmt.Sprintf("%ss:job%02d", keysOf, i)
		cl.server.Del(key)
		if err := cl.server.Set(key, "foreign"); err != nil {
			t.Fatal(err)
		}
	}
	cronce(t, "doctor", "--redis", cl.url).want(t, exit.Failed, "nor can the states of 2 more jobs be read\n", "nor of 7 more jobs\n")
}

// Doctor does not advise to start nodes for a job that a live node has.
func TestDoctorOfAJobThatANodeHas(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 1, 0)
	cl.server.SetTime(time.Now().Add(time.Minute))
	if _, err := cl.Front().Beat(t.Context(), series.Beat{Node: "n", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	r := cronce(t, "doctor", "--redis", cl.url)
	r.want(t, exit.Failed, "refuse  overdue", "n had this job at ", "see the log and the /readyz of the nodes that have these jobs")
	if strings.Contains(r.stdout, "start nodes") {
		t.Errorf("doctor advises to start nodes: %s", r.stdout)
	}
}

func TestDoctorWithoutServer(t *testing.T) {
	cronce(t, "doctor", "--redis", "redis://127.0.0.1:1").want(t, exit.NotKnown, "refuse  connection", "check its address")
}
