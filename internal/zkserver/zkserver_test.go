package zkserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/zkserver"
)

func connect(t *testing.T, s *zkserver.Server) *zk.Conn {
	t.Helper()
	c, _, err := zk.Connect([]string{s.Addr()}, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// Acknowledged data is available again after a crash.
func TestKillKeepsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t)
	c := connect(t, s)
	if _, err := c.Create("/k", []byte("v"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	s.Restart()
	if data, _, err := connect(t, s).Get("/k"); err != nil || string(data) != "v" {
		t.Errorf("after a crash /k is %q, %v", data, err)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t, "tickTime=123")
	if conf := s.Ask("conf"); !strings.Contains(conf, "tickTime=123\n") {
		t.Errorf("the settings are %s", conf)
	}
	if !strings.HasPrefix(s.Ask("ruok"), "imok") {
		t.Error("the server is not well")
	}
}
