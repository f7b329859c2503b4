package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
)

// A configuration is checked, and a client is made, without any request to the network, not even
// for a server's name.
func TestCheckAsksNoNameServer(t *testing.T) {
	var asked atomic.Int64
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked.Add(1)
		return nil, errors.New("the network is silent")
	}}
	t.Cleanup(func() { net.DefaultResolver = old })
	name := file(t, "c.yaml", "redis: {addresses: ['redis.example.invalid:6379']}\njobs: {sendSms: {spec: '@hourly'}}\n")
	cronce(t, "node", "--check", "--config", name)
	c := new(config.Config)
	c.Redis.Addresses = []string{"redis.example.invalid:6379"}
	client, err := clients.Redis(c)
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	if n := asked.Load(); n > 0 {
		t.Errorf("%d questions to name servers", n)
	}
}

// A deadline that cannot always be met gets a note, and is no fault.
func TestCheckNotesShortDeadlines(t *testing.T) {
	t.Parallel()
	const yaml = "jobs: [{kind: sleep, name: a, spec: '@hourly', deadline: 1ms}, {kind: sleep, name: b, spec: '@hourly', deadline: 1m}]\n"
	cronce(t, "node", "--check", "--config", file(t, "c.yaml", yaml)).want(t, exit.Fine, "note: 1 job has a deadline below 1s", "busy: a\n", "The configuration is fine.")
}

// Anchors, aliases and merge keys are refused in words of their own. Their content is not known, so no
// value is called missing in their place. Other faults of the same job are named.
func TestCheckOfMergeKeys(t *testing.T) {
	t.Parallel()
	const refused = "anchors, aliases and tags are not allowed: quote a value that begins with *, & or !"
	const merge = "merge keys are not allowed, nor are anchors, aliases and tags: write the keys themselves"
	for yaml, want := range map[string][]string{
		"x: &j {kind: sleep, spec: '@hourly'}\njobs:\n  - {<<: *j, name: a, ovrlap: skip}\n": {
			"1:1: x: unknown key, known are defaults", "1:4: x: " + refused, "3:6: jobs[0].<<: " + merge, `3:23: jobs[0].ovrlap: unknown key, did you mean "overlap"?`},
		"jobs:\n  - &j {kind: sleep, name: a, spec: '@hourly'}\n  - *j\n  - <<: *j\n    name: 'a b'\n": {
			"2:5: jobs[0]: " + refused, "3:5: jobs[1]: " + refused, "4:5: jobs[2].<<: " + merge, `5:5: jobs[2].name: is "a b"`},
		"jobs: [{kind: exec, name: a, spec: '@hourly', exec: {command: ['true'], env: {<<: *j, &k a: b}}}]\n": {
			"1:79: jobs[0].exec.env.<<: " + merge, "1:87: jobs[0].exec.env: " + refused},
		"jobs: [{<<: *j, name: a, spec: '@hourly', sleep: {for: 1s}}]\n":                 {"1:9: jobs[0].<<: " + merge},
		"jobs: [{name: a, spec: '@hourly', sleep: {for: 1s}}]\n":                         {`1:8: jobs[0].kind: is "", must be exec, http, sleep`},
		"jobs:\n  - {kind: *k, name: *n, spec: *s}\n":                                    {"2:12: jobs[0].kind: " + refused, "2:22: jobs[0].name: " + refused, "2:32: jobs[0].spec: " + refused},
		"jobs: [{kind: exec, name: a, spec: '@hourly', &e exec: {command: ['true']}}]\n": {"1:47: jobs[0]: " + refused},
	} {
		name := file(t, "c.yaml", yaml)
		r := cronce(t, "node", "--check", "--config", name)
		r.want(t, exit.WrongUsage, want...)
		if n := strings.Count(r.stderr, name); n != len(want) {
			t.Errorf("%d faults, want %d:\n%s", n, len(want), r.stderr)
		}
	}
}
