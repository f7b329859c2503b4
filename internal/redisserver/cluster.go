package redisserver

import (
	"fmt"
	"strings"
	"testing"
)

const slots = 16384

// Cluster starts a Cluster and returns when all nodes know the complete Cluster. The masters come
// first, with equal shares of the slots in their order; then the replicas of the first master, of
// the second, and so on. A master that has been silent for two seconds is replaced.
func Cluster(t testing.TB, masters, replicas int) []*Server {
	t.Helper()
	nodes := make([]*Server, masters*(1+replicas))
	for i := range nodes {
		nodes[i] = Start(t, append(asReplica(), "--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
			"--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no")...)
		nodes[i].AllowReplicas()
		if i < masters {
			nodes[i].Tell(addSlots(i*slots/masters, (i+1)*slots/masters)...)
		}
		// Masters with the same epoch resolve that among themselves for a while, and the replica of
		// a master that is killed meanwhile gets no votes.
		nodes[i].Tell(fmt.Sprintf("CLUSTER SET-CONFIG-EPOCH %d", i+1))
		if i > 0 {
			nodes[i].Tell(fmt.Sprintf("CLUSTER MEET 127.0.0.1 %d", nodes[0].Port()))
		}
	}
	known := fmt.Sprintf("cluster_known_nodes:%d\r", len(nodes))
	for _, s := range nodes {
		s.until("the other nodes", func() bool { return s.cluster(known) })
	}
	for i, s := range nodes[masters:] {
		s.Tell("CLUSTER REPLICATE " + nodes[i/replicas].NodeID())
	}
	for i, s := range nodes {
		s.until("the whole Cluster", func() bool { return s.cluster("cluster_state:ok\r") })
		if i >= masters {
			s.until("its master's data", func() bool { return s.info("master_link_status:up") })
		}
	}
	for _, s := range nodes {
		s.until("that all know all replicas", func() bool {
			reply, err := send(s.Port(), "CLUSTER NODES")
			return err == nil && strings.Count(reply, "slave ") == masters*replicas
		})
	}
	return nodes
}

// addSlots returns the commands that give a node the slots from one up to another. Redis 6.2 needs
// one argument per slot, and an inline command must be shorter than 64 KiB.
func addSlots(from, to int) []string {
	const most = 4096
	var commands []string
	for ; from < to; from += most {
		var command strings.Builder
		command.WriteString("CLUSTER ADDSLOTS")
		for slot := range min(most, to-from) {
			fmt.Fprintf(&command, " %d", from+slot)
		}
		commands = append(commands, command.String())
	}
	return commands
}

// NodeID returns the server's name in its Cluster.
func (s *Server) NodeID() string {
	s.t.Helper()
	lines := strings.Split(s.Tell("CLUSTER MYID"), "\r\n")
	return lines[1]
}

// cluster reports whether the server's CLUSTER INFO contains a line.
func (s *Server) cluster(line string) bool {
	reply, err := send(s.Port(), "CLUSTER INFO")
	return err == nil && strings.Contains(reply, line)
}
