package serverprocess

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// given are the ports that FreePort has returned: the caller may bind its port much later, and
// again when its server restarts.
var given sync.Map

// FreePort returns a port on which no process listens. It returns no port twice in a process. The
// port is below the range from which the system assigns ports to outgoing connections, so that no
// connection takes it while a server restarts.
func FreePort() int {
	for {
		port := 11000 + rand.IntN(20000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		_ = l.Close()
		if _, was := given.LoadOrStore(port, true); !was {
			return port
		}
	}
}
