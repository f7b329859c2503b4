package redisserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
)

// A replica that was cut off misses the writes from then on, until it may reconnect.
func TestReplicaIsCutOff(t *testing.T) {
	master := redisserver.Start(t)
	replica := redisserver.Replica(t, master)
	do(t, master.Addr(), "SET k before")
	becomes(t, replica, "GET k", "before")
	master.CutReplicas()
	do(t, master.Addr(), "SET k after")
	if got := do(t, replica.Addr(), "GET k"); got != "before" {
		t.Errorf("the replica has %q, but it was cut off", got)
	}
	master.AllowReplicas()
	becomes(t, replica, "GET k", "after")
}

// Sentinels replace a master that was killed.
func TestSentinelsFailOver(t *testing.T) {
	t.Parallel()
	master := redisserver.Start(t)
	replica := redisserver.Replica(t, master)
	all := redisserver.Sentinels(t, master, 1)
	master.Kill()
	becomes(t, replica, "ROLE", "master")
	for _, s := range all {
		if got := do(t, s.Addr(), "PING"); got != "+PONG" {
			t.Errorf("a Sentinel says %q", got)
		}
	}
}

// A Cluster replaces a master that was killed.
func TestClusterFailsOver(t *testing.T) {
	t.Parallel()
	nodes := redisserver.Cluster(t, 3, 1)
	nodes[1].Kill()
	becomes(t, nodes[4], "ROLE", "master")
	if got := do(t, nodes[0].Addr(), "CLUSTER NODES"); !strings.Contains(got, ":") {
		t.Errorf("CLUSTER NODES = %q", got)
	}
}

// becomes waits until the first content line of a command's reply contains want. A Sentinel closes
// the connections of a server that it promotes, so a command may get no reply.
func becomes(t *testing.T, s *redisserver.Server, command, want string) {
	t.Helper()
	for give := time.Now().Add(2 * time.Minute); ; <-time.After(20 * time.Millisecond) {
		reply, err := info(s.Addr(), command)
		if strings.Contains(reply, want) {
			return
		}
		if time.Now().After(give) {
			t.Fatalf("%s of %s stays %q, %v, want %q", command, s.Addr(), reply, err, want)
		}
	}
}
