package sqlserver

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/cronce/cronce/internal/serverprocess"
)

// shared are the servers that last as long as the test binary.
var shared struct {
	mu      sync.Mutex
	on      bool
	servers map[*kind]outcome
}

// An outcome is a server, or the error of its start: another try would take long.
type outcome struct {
	*Server

	err error
}

// Main runs the tests of a package whose tests share servers, stops the servers and returns the
// exit code, for TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(sqlserver.Main(m)) }
func Main(m *testing.M) int {
	shared.on = true
	defer func() {
		for _, s := range shared.servers {
			if s.err == nil {
				s.end()
			}
		}
	}()
	return m.Run()
}

// SharedPostgres returns the PostgreSQL server of this test binary. Tests use only databases of
// their own and neither stop nor freeze the server.
func SharedPostgres(t testing.TB) *Server {
	t.Helper()
	return share(t, postgres)
}

// SharedMariaDB does the same with MariaDB.
func SharedMariaDB(t testing.TB) *Server {
	t.Helper()
	return share(t, mariadb)
}

func share(t testing.TB, k *kind) *Server {
	t.Helper()
	bin := k.find(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.on {
		t.Fatal("sqlserver: TestMain does not call sqlserver.Main")
	}
	if shared.servers == nil {
		shared.servers = make(map[*kind]outcome)
	}
	if _, tried := shared.servers[k]; !tried {
		s, err := launch(k, bin, nil)
		shared.servers[k] = outcome{s, err}
	}
	if err := shared.servers[k].err; err != nil {
		t.Fatalf("sqlserver: start %s: %v", k.program, err)
	}
	return shared.servers[k].Server
}

// launch starts a server that no test ends.
func launch(k *kind, bin string, args []string) (*Server, error) {
	dir, err := os.MkdirTemp("", "sqlserver-")
	if err != nil {
		return nil, fmt.Errorf("make its folder: %w", err)
	}
	program, err := k.prepare(bin, dir, args)
	if err == nil {
		var s *serverprocess.Server
		if s, err = serverprocess.Lasting(dir, program); err == nil {
			return &Server{s, k}, nil
		}
	}
	_ = os.RemoveAll(dir) // only the error of the start matters
	return nil, err
}

// end kills a server that no test ends, and removes its files.
func (s *Server) end() {
	s.Kill()
	_ = os.RemoveAll(s.Dir()) // if it fails, the system empties its folder for temporary files
}
