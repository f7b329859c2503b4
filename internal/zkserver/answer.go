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
