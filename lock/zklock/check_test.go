package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/zklock"
)

// A check of a fit ensemble finds nothing, and leaves only the parts of the namespace behind, whether
// or not an earlier check was cut off.
func TestFit(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	d := newDriver(t, addr, zklock.Options{})
	for range 2 {
		risks, err := d.CheckStore(t.Context())
		must(t, err)
		_, err = op.Create(fmt.Sprintf("/%s/v1/fit%x", space(t), d.SessionID()), nil, 0, zk.WorldACL(zk.PermAll)) // as a check that was cut off
		must(t, err)
		if len(risks) != 0 {
			t.Errorf("risks: %+v", risks)
		}
	}
	_, err := d.CheckStore(t.Context())
	must(t, err)
	for path, want := range map[string]string{"/" + space(t) + "/v1": "[clock locks nodes series]", "/" + space(t) + "/v1/locks": "[]", "/" + space(t) + "/v1/series": "[]"} {
		if got := fmt.Sprint(children(t, op, path)); got != want {
			t.Errorf("below %s there is %s, want %s", path, got, want)
		}
	}
}

// A session that lacks rights is refused; the error names the node and the fix.
func TestUnfitRights(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t)
	op := operator(t, s.Addr())
	hold(t, lock.New(newDriver(t, s.Addr(), zklock.Options{Namespace: "owned", Scheme: "digest", Auth: []byte("user:password")}), "a"), "k")
	readers, all := zk.WorldACL(zk.PermRead), zk.WorldACL(zk.PermAll)
	for _, path := range []string{"/readonly", "/locked", "/locked/v1"} {
		acl := all
		if path == "/readonly" {
			acl = readers
		}
		_, err := op.Create(path, nil, 0, acl)
		must(t, err)
	}
	_, err := op.Create("/locked/v1/locks", nil, 0, readers)
	must(t, err)
	for namespace, where := range map[string]string{"owned": "/owned/v1", "readonly": "/readonly/v1", "locked": "/locked/v1/locks"} {
		_, err := newDriver(t, s.Addr(), zklock.Options{Namespace: namespace}).CheckStore(t.Context())
		unfit, is := errors.AsType[*zklock.UnfitError](err)
		if !is || !errors.Is(err, lock.ErrUnfit) || unfit.Topic != "acl" || !strings.HasSuffix(unfit.Text, " "+where) {
			t.Errorf("%s: %v", namespace, err)
		}
	}
}

// Parts of the namespace that sessions without authentication have created are a risk.
func TestFitOpenToAll(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	_, err := newDriver(t, addr, zklock.Options{}).CheckStore(t.Context())
	must(t, err)
	risks, err := newDriver(t, addr, zklock.Options{Scheme: "digest", Auth: []byte("user:password")}).CheckStore(t.Context())
	must(t, err)
	if len(risks) != 3 || risks[0].Topic != "acl" || !strings.Contains(risks[0].Text, "/"+space(t)+"/v1/locks") {
		t.Errorf("risks: %+v", risks)
	}
}

// A server that gives sessions another timeout than requested is a risk.
func TestFitSession(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t, "minSessionTimeout=20000", "maxSessionTimeout=40000")
	for asked, text := range map[time.Duration]string{
		time.Minute:      "a lease that is not renewed ends after 20s",
		5 * time.Second:  "the keys of a process that died stay held",
		30 * time.Second: "",
	} {
		risks, err := newDriver(t, s.Addr(), zklock.Options{Session: asked}).CheckStore(t.Context())
		must(t, err)
		if text == "" && len(risks) == 0 {
			continue
		}
		if len(risks) != 1 || risks[0].Topic != "session" || !strings.Contains(risks[0].Text, text) {
			t.Errorf("asked were %v: %+v", asked, risks)
		}
	}
}

// A server that does not answer is doubt, not unfit.
func TestFitWithoutAServer(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if _, err := newDriver(t, "127.0.0.1:1", zklock.Options{}).CheckStore(ctx); err == nil || errors.Is(err, lock.ErrUnfit) {
		t.Errorf("without a server: %v", err)
	}
}

func children(t *testing.T, c *zk.Conn, path string) []string {
	t.Helper()
	names, _, err := c.Children(path)
	must(t, err)
	slices.Sort(names)
	return names
}
