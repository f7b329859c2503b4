package zklock_test

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

func TestMain(m *testing.M) { os.Exit(zkserver.Main(m)) }

var namespaces atomic.Int64

// fresh returns a namespace that no test has used.
func fresh() string { return "ns" + strconv.FormatInt(namespaces.Add(1), 10) }

// space returns the namespace of a test that does not choose one: the test shares its server with
// others.
func space(t testing.TB) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return name
}

func newDriver(t testing.TB, addr string, o zklock.Options) *zklock.Driver {
	t.Helper()
	return driverOf(t, []string{addr}, o)
}

func driverOf(t testing.TB, addrs []string, o zklock.Options) *zklock.Driver {
	t.Helper()
	o.Namespace = cmp.Or(o.Namespace, space(t))
	d, err := zklock.New(addrs, o)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

// waitOn returns when d has passed on the server's clock.
func waitOn(t testing.TB, c driver.Clocked, d time.Duration) {
	t.Helper()
	start := now(t, c)
	give := time.Now().Add(d + 20*time.Second)
	for at := start; at.Sub(start) < d; at = now(t, c) {
		if time.Now().After(give) {
			t.Fatalf("the server's clock did not move by %v", d)
		}
		<-time.After(max(d-at.Sub(start), time.Millisecond))
	}
}

func now(t testing.TB, c driver.Clocked) time.Time {
	t.Helper()
	rs, err := c.Now(context.Background())
	must(t, err)
	return rs[0].Time
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
