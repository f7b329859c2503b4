package redisserver

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The user with which replicas log in to their master, so that they can be cut off.
const (
	replicaUser = "replica"
	replicaAuth = "replica"
)

// asReplica returns the arguments of a server that is, or may become, a replica.
func asReplica() []string {
	return []string{"--masteruser", replicaUser, "--masterauth", replicaAuth}
}

// Replica starts a replica of master and returns when it has the data of master.
func Replica(t testing.TB, master *Server, args ...string) *Server {
	t.Helper()
	master.AllowReplicas()
	args = append(append(asReplica(), "--replicaof", "127.0.0.1", fmt.Sprint(master.Port())), args...)
	s := Start(t, args...)
	s.until("its master's data", func() bool { return s.info("master_link_status:up") })
	return s
}

// CutReplicas disconnects the server's replicas, and prevents them from reconnecting: later writes
// of the server are lost if one of the replicas is promoted. Clients, and the other nodes of a
// Cluster, can still connect. CutReplicas returns when the replicas are gone.
func (s *Server) CutReplicas() {
	s.t.Helper()
	s.Tell("ACL SETUSER "+replicaUser+" off", "CLIENT KILL TYPE replica")
	s.until("that its replicas are gone", func() bool { return s.info("connected_slaves:0") })
}

// AllowReplicas lets replicas connect and reconnect.
func (s *Server) AllowReplicas() {
	s.t.Helper()
	s.Tell("ACL SETUSER "+replicaUser+" on >"+replicaAuth+" +psync +replconf +ping", "CONFIG SET repl-diskless-sync-delay 0")
}

// Tell sends commands, in the inline form, and returns the raw replies. An error
// reply fails the test.
func (s *Server) Tell(commands ...string) string {
	s.t.Helper()
	reply, err := send(s.Port(), commands...)
	if err != nil || strings.HasPrefix(reply, "-") || strings.Contains(reply, "\n-") {
		s.t.Fatalf("redisserver: %s: %q: %q, %v", s.Addr(), commands, reply, err)
	}
	return reply
}

// info reports whether the server's INFO contains a line.
func (s *Server) info(line string) bool {
	reply, err := info(s.Port())
	return err == nil && strings.Contains(reply, "\n"+line+"\r")
}

// until waits until a condition about the server is true.
func (s *Server) until(what string, reached func() bool) {
	s.t.Helper()
	for give := time.Now().Add(2 * patience); !reached(); {
		if time.Now().After(give) {
			s.t.Fatalf("redisserver: %s waits in vain for %s; it printed:\n%s", s.Addr(), what, s.Log())
		}
		<-time.After(10 * time.Millisecond)
	}
}
