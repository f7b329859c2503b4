package zkserver

import (
	"bytes"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// answers compares the folder that the server on port reports with dir: another server may have
// been faster to bind the port. A server that does not serve yet reports that instead.
func answers(port int, dir string) bool {
	conf, err := command(port, "conf", 500*time.Millisecond) // a server that is starting may never answer
	return err == nil && strings.Contains(conf, "\ndataDir="+dataDir(dir)+string(filepath.Separator))
}

// lives compares the folder that the server on port reports with dir, whether the server serves or
// not.
func lives(port int, dir string) bool {
	env, err := command(port, "envi", 500*time.Millisecond)
	return err == nil && strings.Contains(env, "\nuser.dir="+dir+"\n")
}

// The modes of a server while it serves.
const (
	Leader     = "leader"
	Follower   = "follower"
	Standalone = "standalone"
)

// Mode returns the current mode of the server: Leader, Follower, Standalone, or "" if it does not
// serve.
func (s *Server) Mode() string {
	answer, _ := command(s.Port(), "srvr", 500*time.Millisecond) // without an answer there is no service
	_, after, _ := strings.Cut(answer, "\nMode: ")
	mode, _, _ := strings.Cut(after, "\n")
	return mode
}

// command returns the reply to a four-letter word.
func command(port int, word string, limit time.Duration) (string, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(word)); err != nil {
		return "", err
	}
	var reply bytes.Buffer
	_, err = reply.ReadFrom(conn)
	return reply.String(), err
}
