// Package zkserver starts real ZooKeeper servers for tests.
//
// A server is standalone, or a member of an Ensemble. Each server listens on free loopback ports,
// keeps its files in the test's own folder, and is stopped by its process id when the test ends (on
// Linux also when the test process dies). Its tick is 200 ms, so that sessions of 400 ms and more
// are allowed. It does not sync its log to disk: acknowledged data survives the end of its process,
// but not of the machine.
package zkserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/serverprocess"
)

// Require is the environment variable that, if set to 1, makes a missing ZooKeeper a failure
// instead of a skipped test.
const Require = serverprocess.Require

// Tick is the unit of the server's times. The shortest session has two ticks.
const Tick = 200 * time.Millisecond

const (
	jar      = "/usr/share/java/zookeeper.jar" // names its dependencies
	packages = "default-jre-headless zookeeper"
	patience = 2 * time.Minute // a loaded machine starts slowly
)

// A Server is a running ZooKeeper. Addr and Port may be called from any goroutine, the other
// methods only from the test's own. Restart keeps the address and the files: sessions live on if
// their clients reconnect in time.
type Server struct {
	*serverprocess.Server

	t testing.TB
}

// Start starts a ZooKeeper with the given lines of zoo.cfg ("tickTime=100") behind its own, and
// returns when it answers. Many tests and packages may call it at once. If Java or ZooKeeper is not
// installed, the test is skipped, or fails if CRONCE_REQUIRE_SERVERS is 1.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	java := find(t)
	dir := t.TempDir()
	return &Server{t: t, Server: serverprocess.Start(t, dir, program(java, dir, slices.Clone(settings)))}
}

// program returns a standalone server, with its files in dir.
func program(java, dir string, settings []string) serverprocess.Program {
	config := filepath.Join(dir, "zoo.cfg")
	return serverprocess.Program{
		Name: "ZooKeeper", Patience: patience,
		Prepare: func(port int) error { return os.WriteFile(config, configuration(dir, port, settings), 0o600) },
		Command: func(int) *exec.Cmd { return exec.Command(java, arguments(alone, config)...) },
		Answers: func(s *serverprocess.Server) bool { return answers(s.Port(), dir) },
	}
}

// find returns the path of Java, if ZooKeeper is installed, too.
func find(t testing.TB) string {
	t.Helper()
	java := serverprocess.Find(t, "java", packages)
	if _, err := os.Stat(jar); err != nil {
		serverprocess.Missing(t, jar, packages)
	}
	return java
}

// Ask sends one of the server's four-letter words and returns the reply.
func (s *Server) Ask(word string) string {
	s.t.Helper()
	answer, err := command(s.Port(), word, 10*time.Second)
	if err != nil {
		s.t.Fatalf("zkserver: %s: %v", word, err)
	}
	return answer
}
