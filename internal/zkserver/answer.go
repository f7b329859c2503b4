package zkserver

import (
	"bytes"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// answers asks the server on port for its folder: another one may have been
// faster to bind. A server that does not serve yet says so instead.
func answers(port int, dir string) bool {
	conf, err := ask(port, "conf", 500*time.Millisecond) // one that just begins may never answer
	return err == nil && strings.Contains(conf, "\ndataDir="+dataDir(dir)+string(filepath.Separator))
}

// lives asks the server on port for its folder, whether it serves or not.
func lives(port int, dir string) bool {
	env, err := ask(port, "envi", 500*time.Millisecond)
	return err == nil && strings.Contains(env, "\nuser.dir="+dir+"\n")
}

// What a server is while it serves.
const (
	Leader     = "leader"
	Follower   = "follower"
	Standalone = "standalone"
)

// Mode is what the server is now: Leader, Follower, Standalone, or nothing if it
// does not serve.
func (s *Server) Mode() string {
	answer, _ := ask(s.Port(), "srvr", 500*time.Millisecond) // no answer is no service
	_, after, _ := strings.Cut(answer, "\nMode: ")
	mode, _, _ := strings.Cut(after, "\n")
	return mode
}

// ask returns the answer to a four-letter word.
func ask(port int, word string, limit time.Duration) (string, error) {
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
