package sqlserver

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared are the servers that last as long as the test binary.
var shared struct {
	mu      sync.Mutex
	on      bool
	servers map[*kind]*Server
	failed  map[*kind]error
}

// Main runs the tests of a package whose tests share servers, stops those and
// returns the exit code, for TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(sqlserver.Main(m)) }
func Main(m *testing.M) int {
	shared.on = true
	defer func() {
		for _, s := range shared.servers {
			s.remove()
		}
	}()
	return m.Run()
}

// SharedPostgres returns the PostgreSQL server of this test binary. Tests keep to
// databases of their own and neither stop nor freeze it.
func SharedPostgres(t testing.TB) *Server {
	t.Helper()
	return share(t, postgres)
}

// SharedMariaDB is the same for MariaDB.
func SharedMariaDB(t testing.TB) *Server {
	t.Helper()
	return share(t, mariadb)
}

func share(t testing.TB, k *kind) *Server {
	t.Helper()
	bin := found(t, k)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.on {
		t.Fatal("sqlserver: TestMain does not call sqlserver.Main")
	}
	if shared.servers == nil {
		shared.servers, shared.failed = make(map[*kind]*Server), make(map[*kind]error)
	}
	if shared.servers[k] == nil {
		shared.servers[k], shared.failed[k] = last(k, bin)
	}
	if err := shared.failed[k]; err != nil {
		t.Fatalf("sqlserver: start %s: %v", k.program, err)
	}
	return shared.servers[k]
}

// last starts a server that no test ends.
func last(k *kind, bin string) (*Server, error) {
	dir, err := os.MkdirTemp("", "sqlserver-")
	if err != nil {
		return nil, fmt.Errorf("make its folder: %w", err)
	}
	s := &Server{kind: k, bin: bin, dir: dir}
	return s, s.begin()
}
