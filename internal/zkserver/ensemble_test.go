package zkserver_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/zkserver"
)

// The leader is killed: the others elect another one, which has the acknowledged data, and the
// first follows it when it is restarted.
func TestEnsembleElectsALeader(t *testing.T) {
	t.Parallel()
	e := zkserver.StartEnsemble(t)
	first := e.Leader()
	if _, err := connect(t, first).Create("/k", []byte("v"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	first.Kill()
	second := e.Leader()
	if first == second {
		t.Error("a server that was killed leads")
	}
	if data, _, err := connect(t, second).Get("/k"); err != nil || string(data) != "v" {
		t.Errorf("with the next leader /k is %q, %v", data, err)
	}
	first.Restart()
	e.Whole()
	if mode := first.Mode(); mode != zkserver.Follower {
		t.Errorf("the first leader came back as %q", mode)
	}
}

// A server without a majority does not serve.
func TestWithoutMajority(t *testing.T) {
	t.Parallel()
	e := zkserver.StartEnsemble(t)
	leader := e.Leader()
	for _, s := range e.Others(leader) {
		s.Kill()
	}
	give := time.Now().Add(2 * time.Minute)
	for leader.Mode() != "" {
		if time.Now().After(give) {
			t.Fatal("one of three serves")
		}
		<-time.After(20 * time.Millisecond)
	}
}
