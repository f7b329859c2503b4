package chronos_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronce/cronce/internal/serverprocess"
)

// A namespace is a network of its own. It has no name: the kernel removes it, and all that is in it, when its file is
// closed and its processes have ended, however the test ends.
type namespace struct {
	t    *testing.T
	file *os.File
}

// ownNetwork is the network of the thread that opens it.
const ownNetwork = "/proc/thread-self/ns/net"

func newNamespace(t *testing.T) namespace {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home := openNetwork(t)
	defer home.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); errors.Is(err, unix.EPERM) {
		t.Skip("network namespaces need root")
	} else if err != nil {
		t.Fatal(err)
	}
	defer enter(home)
	n := namespace{t, openNetwork(t)}
	t.Cleanup(func() { _ = n.file.Close() })
	return n
}

func openNetwork(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(ownNetwork)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// enter moves this thread. A thread that cannot return would lead other tests astray.
func enter(f *os.File) {
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(err)
	}
}

// inside calls f with this thread in the namespace. Processes that f starts, and sockets that it opens on its own goroutine, stay there.
func (n namespace) inside(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home := openNetwork(n.t)
	defer home.Close()
	enter(n.file)
	defer enter(home)
	f()
}

// command runs a program in the namespace and returns its output.
func (n namespace) command(program string, args ...string) (out string, err error) {
	n.inside(func() {
		var text []byte
		text, err = exec.Command(program, args...).CombinedOutput()
		out = string(text)
	})
	return out, err
}

func (n namespace) ip(line string) {
	n.t.Helper()
	if out, err := n.command("ip", strings.Fields(line)...); err != nil {
		n.t.Fatalf("ip %s: %v: %s", line, err, out)
	}
}

// A host is a namespace with one cable.
type host struct {
	namespace

	name, addr string
}

// A network connects hosts through two bridges that are not connected with each other. All hosts are on the first
// one, unless the network is cut: a cable on the other one is out of reach, and packets get lost without a word.
type network struct {
	wire  namespace
	hosts []*host
}

func newNetwork(t *testing.T, hosts int) *network {
	t.Helper()
	serverprocess.Find(t, "ip", "iproute2", "/usr/sbin", "/sbin")
	n := &network{wire: newNamespace(t)}
	for _, bridge := range []string{"b0", "b1"} {
		if out, err := n.wire.command("ip", strings.Fields("link add "+bridge+" type bridge forward_delay 0 mcast_snooping 0")...); err != nil {
			t.Skipf("this kernel makes no bridge: %v: %s", err, out)
		}
		n.wire.ip("link set " + bridge + " up")
	}
	for i := range hosts {
		h := &host{namespace: newNamespace(t), name: fmt.Sprint("h", i+1), addr: fmt.Sprint("10.77.0.", i+1)}
		n.wire.ip(fmt.Sprintf("link add %s type veth peer name eth0 netns /proc/%d/fd/%d", h.name, os.Getpid(), h.file.Fd()))
		n.wire.ip("link set " + h.name + " master b0 up")
		h.ip("link set lo up")
		h.ip("addr add " + h.addr + "/24 dev eth0")
		h.ip("link set eth0 up")
		n.hosts = append(n.hosts, h)
	}
	return n
}

// cut separates these hosts from all others.
func (n *network) cut(away ...*host) {
	for _, h := range away {
		n.wire.ip("link set " + h.name + " master b1")
	}
}

func (n *network) heal() {
	for _, h := range n.hosts {
		n.wire.ip("link set " + h.name + " master b0")
	}
}

// A cut stops packets in both directions, a heal lets them pass, and nothing of it is seen outside.
func TestCut(t *testing.T) {
	n := newNetwork(t, 3)
	addresses := map[*host]string{}
	for _, h := range n.hosts {
		h.inside(func() {
			l, err := net.Listen("tcp", h.addr+":0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			addresses[h] = l.Addr().String()
		})
	}
	check := func(from, to *host, want bool) {
		t.Helper()
		patience := time.Second // a connection that is made later than that is not noticed
		if want {
			patience = time.Minute
		}
		from.inside(func() {
			conn, err := net.DialTimeout("tcp", addresses[to], patience)
			if err == nil {
				_ = conn.Close()
			}
			if (err == nil) != want {
				t.Errorf("%s to %s: %v", from.name, to.name, err)
			}
		})
	}
	a, b, c := n.hosts[0], n.hosts[1], n.hosts[2]
	for _, phase := range []struct {
		away       []*host
		ab, bc, ca bool
	}{
		{nil, true, true, true},
		{[]*host{a}, false, true, false},
		{[]*host{b, c}, false, true, false},
		{nil, true, true, true},
	} {
		n.heal()
		n.cut(phase.away...)
		check(a, b, phase.ab)
		check(b, c, phase.bc)
		check(c, a, phase.ca)
	}
	if cables, _ := filepath.Glob("/sys/class/net/h[123]"); len(cables) > 0 {
		t.Errorf("%v are in the network of this machine", cables)
	}
}
