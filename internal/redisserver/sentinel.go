package redisserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// MasterName is the name of the master for its Sentinels.
const MasterName = "master"

// Sentinels starts three Sentinels that watch master and its replicas, and returns when they know
// each other and the given number of replicas. Two of them together replace a master that has been
// silent for a second.
func Sentinels(t testing.TB, master *Server, replicas int) []*Server {
	t.Helper()
	all := make([]*Server, 3)
	for i := range all {
		all[i] = sentinel(t, master)
	}
	for _, s := range all {
		s.until("the others", func() bool {
			reply, err := send(s.Port(), "SENTINEL CKQUORUM "+MasterName)
			return err == nil && strings.HasPrefix(reply, "+OK 3")
		})
		s.until("the replicas", func() bool {
			reply, err := send(s.Port(), "SENTINEL REPLICAS "+MasterName)
			return err == nil && strings.HasPrefix(reply, fmt.Sprintf("*%d\r", replicas))
		})
	}
	return all
}

// sentinel starts one Sentinel. It keeps its state in its configuration file.
func sentinel(t testing.TB, master *Server) *Server {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "sentinel.conf")
	return run(t, dir,
		func(port int) error { return os.WriteFile(conf, []byte(watch(master, dir, port)), 0o600) },
		func(int) []string { return []string{conf, "--sentinel"} })
}

func watch(master *Server, dir string, port int) string {
	return strings.Join([]string{
		fmt.Sprintf("port %d", port),
		"bind 127.0.0.1",
		"dir " + dir,
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 2", MasterName, master.Port()),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", MasterName, (4 * time.Second).Milliseconds()), // a replica that lost its master ten times as long ago is never promoted
		fmt.Sprintf("sentinel failover-timeout %s %d", MasterName, (10 * time.Second).Milliseconds()),
		"",
	}, "\n")
}
