package zklock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/zklock"
)

// The explanation of a refusal, or of a server that cannot be reached, names no address, no user
// and no node.
func TestExplain(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t)
	owned := zklock.Options{Namespace: "owned", Scheme: "digest", Auth: []byte("user:password")}
	hold(t, lock.New(newDriver(t, s.Addr(), owned), "a"), "k")
	secured := httptest.NewTLSServer(nil)
	t.Cleanup(secured.Close)
	empty, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, empty.Close())
	for name, test := range map[string]struct {
		addr    string
		options zklock.Options
		want    string
	}{
		"wrong password":      {s.Addr(), zklock.Options{Namespace: "owned", Scheme: "digest", Auth: []byte("user:guess")}, "lacks a right"},
		"no password":         {s.Addr(), zklock.Options{Namespace: "owned"}, "lacks a right"},
		"unknown scheme":      {s.Addr(), zklock.Options{Scheme: "guess", Auth: []byte("user:guess")}, "does not support this scheme"},
		"nothing there":       {empty.Addr().String(), zklock.Options{}, "refuses connections"},
		"a TLS port in plain": {secured.Listener.Addr().String(), zklock.Options{}, "uses TLS and the client does not"},
		"TLS to a plain port": {s.Addr(), zklock.Options{Dial: func(network, addr string, timeout time.Duration) (net.Conn, error) {
			return tls.DialWithDialer(&net.Dialer{Timeout: timeout}, network, addr, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is no TLS server
		}}, "uses TLS and the client does not, or the other way round"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, test.addr, test.options)
			var err error
			rig.Eventually(t, "the request fails for that", func() bool { // the first request may end while the client still connects
				ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer stop()
				_, err = d.Acquire(ctx, driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute})
				return err != nil && strings.Contains(d.Explain(err), test.want)
			})
			if isHeld(err) || errors.Is(err, lock.ErrLost) {
				t.Errorf("the answer is %v, want doubt", err)
			}
			for _, secret := range []string{"127.0.0.1", "user:", "guess", "/v1"} {
				if got := d.Explain(err); strings.Contains(got, secret) {
					t.Errorf("%q contains %q", got, secret)
				}
			}
		})
	}
}

// A node that cannot be read affects only one series: the answer says that the store was reached,
// and the other series of the request are answered. A peek treats the number as not decided.
func TestUnreadableNodeIsOfOneSeries(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	d := newDriver(t, addr, zklock.Options{})
	os := []series.OpenRequest{{Key: "good", Node: "n"}, {Key: "foul", Node: "n"}, {Key: "newer", Node: "n"}, {Key: "seen", Node: "n", Revision: "r"}}
	d.Open(t.Context(), os)
	for path, data := range map[string]string{"foul": "no JSON", "newer": fmt.Sprintf(`{"format":%d}`, series.Format+1), "seen/revisions": "{"} {
		_, err := op.Set("/"+space(t)+"/v1/series/"+path, []byte(data), -1)
		must(t, err)
	}
	var keys []string
	for i, is := range d.Open(t.Context(), os) {
		keys = append(keys, is.Key)
		if unreadable := errors.Is(is.Err, driver.ErrUnreadable); unreadable != (i > 0) || unreadable && d.Explain(is.Err) == "" || !unreadable && is.Err != nil {
			t.Errorf("%s: %v, explained as %q", is.Key, is.Err, d.Explain(is.Err))
		}
	}
	for i, is := range d.ReadSeries(t.Context(), keys[:3]) {
		if errors.Is(is.Err, driver.ErrUnreadable) != (i > 0) {
			t.Errorf("a look at %s: %v", is.Key, is.Err)
		}
	}
	if _, err := d.Journal(t.Context(), "foul", 0); !errors.Is(err, driver.ErrUnreadable) {
		t.Errorf("the journal: %v", err)
	}
	ps := []series.NumberRef{{Key: "good", Number: 1}, {Key: "foul", Number: 1}}
	if as, err := d.Peek(t.Context(), ps, true); err != nil || as[0] == nil || as[1] != nil {
		t.Errorf("a peek: %v, %v", as, err)
	}
	_, err := op.SetACL("/"+space(t)+"/v1/series/foul", zk.WorldACL(zk.PermAll&^zk.PermRead), -1) // the session may not read it
	must(t, err)
	if _, err := d.Peek(t.Context(), ps, true); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a peek that is refused behind another one: %v", err)
	}
	twice := []series.NumberRef{{Key: "foul", Number: 1}, {Key: "foul", Number: 2}}
	if _, err := d.Peek(t.Context(), twice, true); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("two peeks that are refused: %q, want the cause once", err)
	}
	_, err = op.SetACL("/"+space(t)+"/v1/series/foul", zk.WorldACL(zk.PermAll), -1)
	must(t, err)
	_, _, err = op.Get("/" + space(t) + "/v1/series/foul")
	if data, _, _ := op.Get("/" + space(t) + "/v1/series/foul"); err != nil || string(data) != "no JSON" {
		t.Errorf("the node that cannot be read is now %q, %v", data, err)
	}
}

// A session of another user than the creator of the nodes is refused, whatever the request. A
// server that is not there, or rejects the user, does not refuse: the request is repeated. In none
// of these cases was a claim granted, and the error says so.
func TestRefuses(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t)
	owner := newDriver(t, s.Addr(), zklock.Options{Namespace: "owned", Scheme: "digest", Auth: []byte("user:password")})
	open(t, owner, "job")
	empty, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, empty.Close())
	for name, c := range map[string]struct {
		addr    string
		options zklock.Options
		want    bool
	}{
		"another password": {s.Addr(), zklock.Options{Namespace: "owned", Scheme: "digest", Auth: []byte("user:guess")}, true},
		"no password":      {s.Addr(), zklock.Options{Namespace: "owned"}, true},
		"unknown scheme":   {s.Addr(), zklock.Options{Scheme: "guess", Auth: []byte("user:guess")}, false},
		"nothing there":    {empty.Addr().String(), zklock.Options{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, c.addr, c.options)
			for key, opened := range map[string]bool{"a new key": false, "job": true} {
				rig.Eventually(t, "the server has answered, if it will", func() bool { // the first request may end while the client still connects
					ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
					defer stop()
					err := d.Open(ctx, []series.OpenRequest{{Key: key, Node: "n"}})[0].Err
					if opened {
						err = d.ReleaseRuns(ctx, []series.EndRequest{{RunRef: series.RunRef{Key: key, Number: 1, Owner: "n/1", Fence: 1}, Outcome: series.OutcomeOK}})[0].Err
					}
					claimed := d.Claim(ctx, []series.Claim{{Key: key, Owner: "n/2", Number: 2, TTL: time.Minute, Latest: driver.MaxNumber}})[0]
					if opened && (claimed.Err == nil || !errors.Is(claimed.Err, driver.ErrNotDone)) {
						t.Errorf("%s: a claim is answered %+v, want an error that is ErrNotDone", key, claimed)
					}
					if err == nil || !c.want && d.Refuses(err) {
						t.Errorf("%s: %v, which is a refusal: %v", key, err, err != nil)
					}
					return d.Refuses(err) == c.want
				})
			}
			if d.Refuses(nil) {
				t.Error("no error is a refusal")
			}
		})
	}
}
