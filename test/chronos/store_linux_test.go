package chronos_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/internal/sqlserver"
)

// A store is where the nodes claim their ticks. It runs on hosts of the network.
type store struct {
	name     string
	url      string
	replicas int  // that must have a claim
	migrated bool // its tables are made before nodes start
	master   func() *host

	// serves returns how long after a cut schedules may take to be back, and whether they can be before the heal.
	serves func(away []*host) (back time.Duration, while bool)
}

// A node that was cut off keeps its ticks until their leases are over. A Sentinel sees that a master is gone after two
// seconds, and two of them promote another server, which needs the other replica again.
const (
	takeover = lease + time.Second
	failover = 5 * time.Second
)

// onSentinels starts a master with two replicas on three hosts, each with a Sentinel beside it: the side of a cut with most
// Sentinels is then the side with most copies of the data, and a claim counts when two servers have it.
func onSentinels(t *testing.T, n *network) store {
	cli := serverprocess.Find(t, "redis-cli", "redis-tools")
	hosts := n.hosts[:3]
	servers := map[*host]*redisserver.Server{hosts[0]: hosts[0].redis(t)}
	first := strconv.Itoa(servers[hosts[0]].Port())
	for _, h := range hosts[1:] {
		servers[h] = h.redis(t, "--replicaof", hosts[0].addr, first)
	}
	var sentinels []string
	for _, h := range hosts {
		s := h.sentinel(t, hosts[0].addr+" "+first)
		sentinels = append(sentinels, net.JoinHostPort(h.addr, strconv.Itoa(s.Port())))
		rig.Eventually(t, "the Sentinel on "+h.name+" knows the replicas", func() bool {
			out, _ := h.command(cli, "-p", strconv.Itoa(s.Port()), "info", "sentinel")
			return strings.Contains(out, "slaves=2")
		})
	}
	port := sentinels[0][strings.LastIndex(sentinels[0], ":")+1:]
	rig.Eventually(t, "the Sentinels know each other", func() bool {
		out, _ := hosts[0].command(cli, "-p", port, "sentinel", "ckquorum", redisserver.MasterName)
		return strings.HasPrefix(out, "OK 3")
	})
	where := func() *host {
		out, err := hosts[0].command(cli, "-p", port, "sentinel", "get-master-addr-by-name", redisserver.MasterName)
		for _, h := range hosts {
			if h.addr == strings.Fields(out + " ?")[0] {
				return h
			}
		}
		t.Fatalf("the master is %q, %v", out, err)
		return nil
	}
	return store{
		name: "Redis " + redisserver.Version() + " with Sentinels", replicas: 1, master: where,
		url: "redis-sentinel://" + strings.Join(sentinels, ",") + "/" + redisserver.MasterName,
		serves: func(away []*host) (time.Duration, bool) {
			m := where()
			info, _ := m.command(cli, "-p", strconv.Itoa(servers[m].Port()), "info", "replication")
			if slices.ContainsFunc(hosts, func(h *host) bool {
				return slices.Contains(away, h) == slices.Contains(away, m) && replicates(info, h)
			}) {
				return takeover, true
			}
			return takeover + failover, false // Sentinels that split their votes wait, as does a master whose only replica is away
		},
	}
}

// replicates reports whether a master has a replica on this host, by its INFO.
func replicates(info string, h *host) bool {
	for line := range strings.Lines(info) {
		if strings.Contains(line, "ip="+h.addr+",") && strings.Contains(line, "state=online") {
			return true
		}
	}
	return false
}

func (h *host) redis(t *testing.T, args ...string) (s *redisserver.Server) {
	h.inside(func() {
		s = redisserver.Start(t, append([]string{"--bind", "0.0.0.0", "--protected-mode", "no", "--appendonly", "yes",
			"--repl-diskless-sync-delay", "0"}, args...)...)
	})
	return s
}

func (h *host) sentinel(t *testing.T, master string) (s *serverprocess.Server) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "sentinel.conf")
	path := serverprocess.Find(t, "redis-server", "redis-server")
	h.inside(func() {
		s = serverprocess.Start(t, dir, serverprocess.Program{
			Name: "redis-sentinel", Patience: time.Minute,
			Prepare: func(port int) error {
				return os.WriteFile(conf, []byte(watch(port, dir, master)), 0o600)
			},
			Command: func(int) *exec.Cmd { return exec.Command(path, conf, "--sentinel") },
			Answers: func(s *serverprocess.Server) bool { return strings.Contains(s.Log(), "+monitor master") },
		})
	})
	return s
}

// watch returns the configuration of a Sentinel that replaces a master that has been silent for two seconds.
func watch(port int, dir, master string) string {
	return fmt.Sprintf(`port %d
bind 0.0.0.0
protected-mode no
dir %s
sentinel monitor %[3]s %[4]s 2
sentinel down-after-milliseconds %[3]s 2000
sentinel failover-timeout %[3]s 6000
`, port, dir, redisserver.MasterName, master)
}

// onPostgres starts one server on a host of its own.
func onPostgres(t *testing.T, n *network) store {
	h := n.hosts[len(n.hosts)-1]
	dir, err := os.MkdirTemp("", "chronos-") // t.TempDir is closed to the user of the server
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	access := filepath.Join(dir, "hba")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(access, []byte("host all all all trust\n"), 0o644); err != nil { //nolint:gosec // no secret
		t.Fatal(err)
	}
	var s store
	var version string
	h.inside(func() {
		server := sqlserver.Postgres(t, "-c", "listen_addresses=*", "-c", "hba_file="+access)
		s.url = server.DSNAt(net.JoinHostPort(h.addr, strconv.Itoa(server.Port())), server.Create(t))
		if err := server.Open(t).QueryRow("SHOW server_version").Scan(&version); err != nil {
			t.Fatal(err)
		}
	})
	version, _, _ = strings.Cut(version, " ")
	s.name, s.migrated, s.master = "PostgreSQL "+version, true, func() *host { return h }
	s.serves = func(away []*host) (time.Duration, bool) { return takeover, len(away) > 1 || away[0] != h }
	return s
}
