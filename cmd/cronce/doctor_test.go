package main

import (
	"encoding/json"
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

func TestDoctorWithoutServer(t *testing.T) {
	cronce(t, "doctor", "--redis", "redis://127.0.0.1:1").want(t, exit.NotKnown, "refuse  connection", "check its address")
}
