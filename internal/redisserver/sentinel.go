package redisserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// MasterName is what the Sentinels call the master they watch.
const MasterName = "master"

// Sentinels starts three Sentinels that watch master and its replicas, and
// returns when they know of each other and of so many replicas. Two of them
// together replace a master that has been silent for a second.
func Sentinels(t testing.TB, master *Server, replicas int) []*Server {
	t.Helper()
	all := make([]*Server, 3)
	for i := range all {
		all[i] = sentinel(t, master)
	}
	for _, s := range all {
		s.until("the others", func() bool {
			reply, err := send(s.port, "SENTINEL CKQUORUM "+MasterName)
			return err == nil && strings.HasPrefix(reply, "+OK 3")
		})
		s.until("the replicas", func() bool {
			reply, err := send(s.port, "SENTINEL REPLICAS "+MasterName)
			return err == nil && strings.HasPrefix(reply, fmt.Sprintf("*%d\r", replicas))
		})
	}
	return all
}

// sentinel starts one. It keeps its state in its configuration file.
func sentinel(t testing.TB, master *Server) *Server {
	t.Helper()
	path := find(t)
	s := &Server{t: t, dir: t.TempDir()}
	s.conf = filepath.Join(s.dir, "sentinel.conf")
	t.Cleanup(s.Kill)
	var err error
	for range tries {
		s.port = freePort()
		if err = os.WriteFile(s.conf, []byte(s.watch(master)), 0o600); err != nil {
			break
		}
		if s.proc, err = s.launch(path); err == nil {
			return s
		}
	}
	t.Fatalf("redisserver: start a Sentinel: %v", err)
	return nil
}

func (s *Server) watch(master *Server) string {
	return strings.Join([]string{
		fmt.Sprintf("port %d", s.port),
		"bind 127.0.0.1",
		"dir " + s.dir,
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 2", MasterName, master.port),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", MasterName, time.Second.Milliseconds()),
		fmt.Sprintf("sentinel failover-timeout %s %d", MasterName, (10 * time.Second).Milliseconds()),
		"",
	}, "\n")
}
