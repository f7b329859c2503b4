package main

import (
	"context"
	"errors"
	"net"
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
