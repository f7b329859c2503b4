//go:build unix

package main

import (
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
)

// A server that answers and is unfit refuses each command, with its reason, and doctor sends it no
// further request.
func TestUnfitServer(t *testing.T) {
	t.Parallel()
	const job = "jobs: [{kind: sleep, name: a, spec: '@every 1s'}]\n"
	disabled, single := redisserver.Start(t, "--rename-command", "EVALSHA", ""), redisserver.Start(t)
	for _, c := range []struct{ name, yaml, want string }{
		{"a command is disabled", "redis: {addresses: ['" + disabled.Addr() + "']}\n", "the server does not know EVALSHA"},
		{"no database", "redis: {addresses: ['" + single.Addr() + "'], db: 99}\n", "the server has no database of the number that the client selects"},
		{"no Cluster", "redis: {addresses: ['" + single.Addr() + "'], cluster: true}\n", "the server is a single one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := file(t, "c.yaml", c.yaml+job)
			cronce(t, "node", "--config", name, "--http", "off").want(t, exit.Refused, c.want)
			cronce(t, "lock", "key", "--config", name, "--", "true").want(t, exit.Refused, c.want)
			cronce(t, "doctor", "--config", name).want(t, exit.Failed, c.want)
		})
	}
}
