//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
)

// addresses returns the list of servers in the form of a configuration.
func addresses(servers []*redisserver.Server) string {
	var list []string
	for _, s := range servers {
		list = append(list, s.Addr())
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// runsOn starts a node that finds its Redis by the configuration alone, and sends to that Redis all
// requests of the other commands.
func runsOn(t *testing.T, yaml string, doctor ...string) {
	t.Helper()
	config := file(t, "c.yaml", yaml+"jobs: [{kind: sleep, name: a, spec: '@every 1s'}]\n")
	n := start(t, "node", "--config", config, "--http", "off")
	eventually(t, "some runs", func() bool { return len(n.logs("run finished")) > 2 })
	cronce(t, "verify", "--config", config).want(t, exit.Fine, "has one verdict.") // each has, or each of the others if one runs
	cronce(t, "runs", "a", "--config", config).want(t, exit.Fine, "ok")
	cronce(t, "doctor", "--config", config).want(t, exit.Fine, doctor...)
}

// The master is found through the Sentinels.
func TestThroughSentinels(t *testing.T) {
	t.Parallel()
	master := redisserver.Start(t)
	sentinels := redisserver.Sentinels(t, master, 0)
	yaml := fmt.Sprintf("redis:\n  addresses: %s\n  master_name: %s\n", addresses(sentinels), redisserver.MasterName)
	runsOn(t, yaml, "the server is a master", "1 job,")
}

// In a Cluster jobs are on several masters, and doctor checks each.
func TestOnCluster(t *testing.T) {
	t.Parallel()
	masters := redisserver.Cluster(t, 3, 0)
	runsOn(t, fmt.Sprintf("redis:\n  addresses: %s\n  cluster: true\n  partitions: 8\n", addresses(masters[:2])), "clock agrees", "1 job,")
}
