package zkserver

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

	"github.com/cronce/cronce/internal/serverprocess"
)

// SyncLimit is how many ticks the servers of an Ensemble wait for each other: a leader that is
// silent for longer is replaced, and a follower is dropped.
const SyncLimit = 10

// initLimit is for how many ticks a new leader and its followers try to agree before they elect
// again. They may try in vain: a leader that has written more sometimes does not understand a
// follower that reconnects (ZOOKEEPER-4685).
const initLimit = 20

const (
	members = 3
	tries   = 3
	looks   = 20 * time.Millisecond // between two checks of the servers
)

// An Ensemble is three servers that elect one of them their leader. Its methods may only be called
// from the test's goroutine.
type Ensemble struct {
	Servers []*Server

	t   testing.TB
	via func(from, to int, addr string) string
}

// StartEnsemble starts three servers with the given lines of zoo.cfg behind their own, like Start,
// and returns when all of them serve.
func StartEnsemble(t testing.TB, settings ...string) *Ensemble {
	t.Helper()
	return StartEnsembleOver(t, func(_, _ int, addr string) string { return addr }, settings...)
}

// StartEnsembleOver is StartEnsemble with a network of the test's own: via returns the address at
// which the from-th of Servers reaches the to-th, which listens for its followers at addr.
// Elections do not use via.
func StartEnsembleOver(t testing.TB, via func(from, to int, addr string) string, settings ...string) *Ensemble {
	t.Helper()
	java := find(t)
	e := &Ensemble{t: t, via: via}
	for range tries { // with other ports, if another process was faster to bind one
		if e.start(java, settings) {
			return e
		}
	}
	t.Fatalf("zkserver: the servers do not find each other; the last of them printed:\n%s", e.Servers[members-1].Log())
	return nil
}

// start starts the servers and reports whether all of them serve. If they do not, none is left
// running.
func (e *Ensemble) start(java string, settings []string) bool {
	e.t.Helper()
	settings = append([]string{
		"initLimit=" + strconv.Itoa(initLimit),
		"syncLimit=" + strconv.Itoa(SyncLimit),
	}, settings...)
	e.Servers = make([]*Server, members)
	for i, peers := range e.peers() {
		e.Servers[i] = e.member(java, i+1, slices.Concat(settings, peers))
	}
	if within(patience, func() bool { return e.unbound() || e.whole() }) && !e.unbound() {
		return true
	}
	for _, s := range e.Servers {
		s.Kill()
	}
	return false
}

// peers returns the configuration lines with which each server finds itself and the others.
func (e *Ensemble) peers() [members][]string {
	var lines [members][]string
	for to := range members {
		quorum, election := serverprocess.FreePort(), serverprocess.FreePort()
		for from := range members {
			addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(quorum))
			if from != to {
				addr = e.via(from, to, addr)
			}
			lines[from] = append(lines[from], fmt.Sprintf("server.%d=%s:%d", to+1, addr, election))
		}
	}
	return lines
}

// member starts the server with this number. It does not serve before others do.
func (e *Ensemble) member(java string, id int, settings []string) *Server {
	e.t.Helper()
	dir := e.t.TempDir()
	config := filepath.Join(dir, "zoo.cfg")
	return &Server{t: e.t, Server: serverprocess.Start(e.t, dir, serverprocess.Program{
		Name: "ZooKeeper", Patience: patience,
		Prepare: func(port int) error {
			if err := os.MkdirAll(dataDir(dir), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dataDir(dir), "myid"), strconv.AppendInt(nil, int64(id), 10), 0o600); err != nil {
				return err
			}
			return os.WriteFile(config, configuration(dir, port, settings), 0o600)
		},
		Command: func(int) *exec.Cmd {
			cmd := exec.Command(java, arguments(inEnsemble, config)...)
			cmd.Dir = dir
			return cmd
		},
		Answers: func(s *serverprocess.Server) bool { return lives(s.Port(), dir) },
	})}
}

// unbound reports whether one of the servers could not bind a port.
func (e *Ensemble) unbound() bool {
	return slices.ContainsFunc(e.Servers, func(s *Server) bool { return strings.Contains(s.Log(), "BindException") })
}

// whole reports whether one server leads and all others follow.
func (e *Ensemble) whole() bool {
	count := map[string]int{}
	for _, s := range e.Servers {
		count[s.Mode()]++
	}
	return count[Leader] == 1 && count[Follower] == members-1
}

// Whole waits until one server leads and all others follow.
func (e *Ensemble) Whole() {
	e.t.Helper()
	if !within(patience, e.whole) {
		e.t.Fatalf("zkserver: the ensemble was not whole within %v", patience)
	}
}

// Leader waits until a server leads, not counting the servers in out, and returns it. For a moment,
// a leader that was stopped does not know that it was replaced.
func (e *Ensemble) Leader(out ...*Server) *Server {
	e.t.Helper()
	var leader *Server
	if !within(patience, func() bool {
		i := slices.IndexFunc(e.Servers, func(s *Server) bool { return !slices.Contains(out, s) && s.Mode() == Leader })
		if i >= 0 {
			leader = e.Servers[i]
		}
		return i >= 0
	}) {
		for _, s := range e.Servers {
			e.t.Logf("%s printed:\n%s", s.Addr(), s.Log())
		}
		e.t.Fatalf("zkserver: no leader was elected within %v", patience)
	}
	return leader
}

// Others returns all servers but one.
func (e *Ensemble) Others(s *Server) []*Server {
	return slices.DeleteFunc(slices.Clone(e.Servers), func(other *Server) bool { return other == s })
}

// Addrs returns the addresses of the servers.
func (e *Ensemble) Addrs() []string {
	addrs := make([]string, len(e.Servers))
	for i, s := range e.Servers {
		addrs[i] = s.Addr()
	}
	return addrs
}

// within waits until a condition is true, and reports whether it was in time.
func within(limit time.Duration, is func() bool) bool {
	for give := time.Now().Add(limit); !is(); <-time.After(looks) {
		if time.Now().After(give) {
			return false
		}
	}
	return true
}
