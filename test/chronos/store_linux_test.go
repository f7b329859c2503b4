package chronos_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/internal/sqlserver"
)

// A store is what the nodes ask. It runs on hosts of the network.
type store struct {
	name     string
	url      string
	replicas int           // that must have a claim
	failover time.Duration // until another server takes the place of one that was cut off
	master   func() *host
}

// onSentinels starts a master with two replicas on three hosts, each with a Sentinel beside it: the side of a cut with most
// Sentinels is then the side with most copies of the data, and a claim counts when two servers have it.
func onSentinels(t *testing.T, n *network) store {
	cli := serverprocess.Find(t, "redis-cli", "redis-tools")
	hosts := n.hosts[:3]
	master := hosts[0].redis(t)
	hosts[1].redis(t, "--replicaof", hosts[0].addr, strconv.Itoa(master.Port()))
	hosts[2].redis(t, "--replicaof", hosts[0].addr, strconv.Itoa(master.Port()))
	var sentinels []string
	for _, h := range hosts {
		s := h.sentinel(t, net.JoinHostPort(hosts[0].addr, strconv.Itoa(master.Port())))
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
	return store{
		name: "Redis " + redisserver.Version() + " with Sentinels", replicas: 1, failover: 5 * time.Second,
		url: "redis-sentinel://" + strings.Join(sentinels, ",") + "/" + redisserver.MasterName,
		master: func() *host {
			out, err := hosts[0].command(cli, "-p", port, "sentinel", "get-master-addr-by-name", redisserver.MasterName)
			for _, h := range hosts {
				if h.addr == strings.Fields(out + " ?")[0] {
					return h
				}
			}
			t.Fatalf("the master is %q, %v", out, err)
			return nil
		},
	}
}

func (h *host) redis(t *testing.T, args ...string) (s *redisserver.Server) {
	h.inside(func() {
		s = redisserver.Start(t, append([]string{"--bind", "0.0.0.0", "--protected-mode", "no", "--appendonly", "yes",
			"--repl-diskless-sync-delay", "0", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"}, args...)...)
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
				return os.WriteFile(conf, []byte(watch(port, dir, strings.Replace(master, ":", " ", 1))), 0o600)
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
	h.inside(func() {
		server := sqlserver.Postgres(t, "-c", "listen_addresses=*", "-c", "hba_file="+access)
		s.url = server.DSNAt(net.JoinHostPort(h.addr, strconv.Itoa(server.Port())), server.Create(t))
	})
	s.name, s.master = "PostgreSQL", func() *host { return h }
	return s
}
