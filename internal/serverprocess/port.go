package serverprocess

import (
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePort returns a port that nobody listens on. It is below the range from
// which the system gives ports to outgoing connections, so that none of those
// takes it while a server restarts.
func FreePort() int {
	for {
		port := 11000 + rand.IntN(20000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = l.Close()
			return port
		}
	}
}
