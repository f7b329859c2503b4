package redislock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// Two drivers that lay a namespace out differently grant the same lock twice. One
// that asks is refused, as is one whose server is away; other namespaces and equal
// options are not concerned.
func TestLayoutsThatDiffer(t *testing.T) {
	s := redisserver.Start(t)
	c := restricted(t, client(t, s.Addr()), "cronce*")
	d := newDriver(t, c, redislock.Options{GroupBy: "/"})
	acquire(t, d, "user/7", "a/1")
	acquire(t, newDriver(t, c, redislock.Options{}), "user/7", "b/1") // no process notices this one
	must(t, d.Agree(t.Context()))
	must(t, d.Agree(t.Context()))
	must(t, newDriver(t, c, redislock.Options{GroupBy: "/", JournalLines: 5}).Agree(t.Context()))
	must(t, newDriver(t, c, redislock.Options{Namespace: "cronce2"}).Agree(t.Context()))
	for _, o := range []redislock.Options{{}, {GroupBy: ":"}, {GroupBy: "/", Partitions: 2}} {
		err := newDriver(t, c, o).Agree(t.Context())
		e, is := errors.AsType[*redislock.RefusedError](err)
		if !is || e.Findings[0].Topic != "layout" || !strings.Contains(err.Error(), `partitions 1, group by "/"`) {
			t.Errorf("%+v: the error is %v", o, err)
		}
	}
	must(t, client(t, s.Addr()).ConfigSet(t.Context(), "maxmemory", "1").Err())
	err := newDriver(t, c, redislock.Options{Namespace: "cronce3"}).Agree(t.Context())
	if err == nil || errors.Is(err, driver.ErrUnfit) || !strings.Contains(err.Error(), "did not record") || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("of a full server the error is %v", err)
	}
	s.Stop()
	err = d.Agree(t.Context())
	if e, is := errors.AsType[*redislock.RefusedError](err); !is || e.Findings[0].Topic != redislock.TopicConnection {
		t.Errorf("without a server the error is %v", err)
	}
}
