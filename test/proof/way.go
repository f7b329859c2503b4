package proof

import (
	"regexp"
	"testing"

	"github.com/cronce/cronce/internal/rig"
)

// A way has the proxies between one process and the servers of its store.
type way []*rig.Proxy

var hostPort = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// newWay starts a proxy for each server in the address of a store, and returns the address that has the proxies in their place.
func newWay(t testing.TB, addr string) (through string, w way) {
	t.Helper()
	through = hostPort.ReplaceAllStringFunc(addr, func(server string) string {
		p := rig.NewProxy(t, server)
		w = append(w, p)
		return p.Addr()
	})
	return through, w
}

func (w way) set(f rig.Faults) {
	for _, p := range w {
		p.Set(f)
	}
}
