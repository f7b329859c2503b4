package zkserver

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/cronce/cronce/internal/serverprocess"
)

// shared is the server that lasts as long as the test binary.
var shared struct {
	mu     sync.Mutex
	on     bool
	tried  bool
	server *serverprocess.Server
	err    error // the error of its start: another try would take long
}

// Main runs the tests of a package whose tests share a server, stops the server and returns the
// exit code, for TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(zkserver.Main(m)) }
func Main(m *testing.M) int {
	shared.on = true
	defer func() {
		if s := shared.server; s != nil {
			s.Kill()
			_ = os.RemoveAll(s.Dir()) // the system empties its folder for temporary files
		}
	}()
	return m.Run()
}

// Shared returns the address of the ZooKeeper of this test binary. Tests use only namespaces of
// their own, and do not expect consecutive zxids.
func Shared(t testing.TB) string {
	t.Helper()
	java := find(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.on {
		t.Fatal("zkserver: TestMain does not call zkserver.Main")
	}
	if !shared.tried {
		shared.tried = true
		shared.server, shared.err = last(java)
	}
	if shared.err != nil {
		t.Fatalf("zkserver: start ZooKeeper: %v", shared.err)
	}
	return shared.server.Addr()
}

// last starts a server that no test ends.
func last(java string) (*serverprocess.Server, error) {
	dir, err := os.MkdirTemp("", "zkserver-")
	if err != nil {
		return nil, fmt.Errorf("make its folder: %w", err)
	}
	s, err := serverprocess.Lasting(dir, program(java, dir, nil))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}
