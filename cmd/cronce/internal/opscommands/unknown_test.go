package opscommands

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
	"github.com/cronce/cronce/ops/notify"
)

// A silent store answers no request.
type silent struct {
	clients.Driver
	acquired func() // called by each request for a lease
}

func (silent) Explain(error) string { return "" }
func (silent) Refuses(error) bool   { return false }

func (silent) Now(context.Context) ([]driver.ClockReading, error) { return nil, errNoRoute }

func (s silent) Acquire(context.Context, driver.Acquisition) (driver.Grant, error) {
	s.acquired()
	return driver.Grant{}, errNoRoute
}

func (silent) Release(context.Context, driver.LeaseRef) error { return errNoRoute }

// snapshotOf returns a snapshot of jobs that cannot be read.
func snapshotOf(jobs int, err error) *ops.Snapshot {
	now := &ops.Snapshot{AsOf: time.Unix(1_800_000_000, 0), Nodes: ops.NewNodeList(series.MemberList{}, errNoRoute)}
	for i := range jobs {
		now.Jobs = append(now.Jobs, &ops.Job{Name: fmt.Sprintf("job%02d", i), State: ops.Unknown, Fault: fmt.Sprint("fault ", i), Series: series.Series{Err: err}})
	}
	return now
}

// A job or a list of nodes that cannot be read is not known: the exit code means neither success nor failure.
func TestUnreadIsNotKnown(t *testing.T) {
	s, now := &clients.Store{Config: &config.Config{}, Driver: silent{}}, snapshotOf(1, errNoRoute)
	job, err := jobListing(t.Context(), s, now, "job00")
	if err != nil || job.fault == nil || exit.Code(job.fault, true) != exit.NotKnown {
		t.Errorf("the job: %v, %v", job.fault, err)
	}
	if l, err := nodesListing(t.Context(), s, now, false); err == nil || exit.Code(err, true) != exit.NotKnown {
		t.Errorf("the nodes: %v, %v", l.fault, err)
	}
}

// A refused job decides the exit code of a status only while the store answers: after that it is older data.
func TestStatusOfARefusedJob(t *testing.T) {
	s := &clients.Store{Config: &config.Config{}, Driver: silent{}}
	for down, want := range map[string]int{"": exit.Refused, "no route": exit.NotKnown} {
		now := snapshotOf(1, fmt.Errorf("no right: %w", lock.ErrUnfit))
		now.Down = down
		if l := statusListing(t.Context(), s, now, false); l.fault == nil || exit.Code(l.fault, true) != want {
			t.Errorf("down %q: %v, want the exit code %d", down, l.fault, want)
		}
	}
}

// Of many causes the first are listed, and the rest is counted.
func TestStatusOfManyCauses(t *testing.T) {
	s := &clients.Store{Config: &config.Config{}, Driver: silent{}}
	for _, c := range []struct {
		jobs int
		each bool
		rows int
		foot string
	}{
		{mostCauses, false, mostCauses, ""},
		{mostCauses + 2, false, mostCauses, "2 more: cronce status --all lists each."},
		{mostCauses + 2, true, mostCauses + 2, ""},
	} {
		l := statusListing(t.Context(), s, snapshotOf(c.jobs, errNoRoute), c.each)
		if rows := len(l.table(false)) - 1; rows != c.rows || l.foot != c.foot {
			t.Errorf("of %d jobs: %d rows and %q, want %d and %q", c.jobs, rows, l.foot, c.rows, c.foot)
		}
	}
}

// The cookie of a session is for TLS alone where the browser uses TLS: with a certificate, or behind a proxy.
func TestCookieIsSecure(t *testing.T) {
	token, secret, err := access.NewToken("ann", access.Viewer)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(token.Line()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ops  config.Ops
		want bool
	}{
		{config.Ops{}, false},
		{config.Ops{BehindProxy: true}, true},
		{config.Ops{TLS: config.OpsTLS{Cert: "c.pem"}}, true},
	} {
		c.ops.TokensFile = file
		gate, err := gateOf(&config.Config{Ops: &c.ops})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		if ok, _ := gate.Begin(w, httptest.NewRequest(http.MethodPost, "/login", nil), secret); !ok {
			t.Fatal("no session")
		}
		if cookies := w.Result().Cookies(); len(cookies) != 1 || cookies[0].Secure != c.want {
			t.Errorf("%+v: %v", c.ops, cookies)
		}
	}
}

// Alerts go to a private address only if the file allows it for their receiver.
func TestAlertsOf(t *testing.T) {
	for _, private := range []bool{false, true} {
		o, err := alertsOf(&config.Config{Ops: &config.Ops{
			Heartbeat: &config.OpsHeartbeat{URL: "https://example.com/beat", AllowPrivate: private},
			Webhook:   &config.OpsWebhook{URL: "https://example.com/hook", AllowPrivate: !private},
		}})
		if err != nil || o.Heartbeat.AllowPrivate != private || o.Webhook.AllowPrivate == private {
			t.Errorf("%v: %+v, %+v, %v", private, o.Heartbeat, o.Webhook, err)
		}
	}
}

// The replicas elect the one that sends the alerts of the webhook.
func TestReplicasElect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		elects := false
		s := &clients.Store{Config: &config.Config{}, Driver: silent{acquired: func() {
			elects = true
			stop()
		}}}
		notifier(s, projection(s), plane{log: slog.New(slog.DiscardHandler), alerts: notify.Options{Webhook: &notify.Target{URL: "https://example.com"}}}).Run(ctx)
		if !elects {
			t.Error("the plane sends alerts without a lock")
		}
	})
}
