package reward_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/jobs/reward"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

func TestMask(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "a": "****", "dad": "****", "aunt": "a****", "family-4711": "fa****", "élève": "él****",
	} {
		if got := reward.Mask(name); got != want {
			t.Errorf("Mask(%q) = %q, want %q", name, got, want)
		}
	}
}

// However claims, records, refusals and doubt are printed or logged, no family
// and no member can be read; the lock's key, which stands in its errors and in
// the store, shows none either.
func TestNothingPersonalShows(t *testing.T) {
	const family, member, other = "family-1918", "member-alpha", "member-beta"
	core, logs := observer.New(zapcore.DebugLevel)
	store := &listening{Store: new(memlock.Store)}
	b := open(t, sqlite(t), reward.SQLite)
	claim := reward.Claim{Family: family, Reward: "welcome", Member: member}
	d := desk(t, b, store, reward.Options{Logger: slog.New(zapslog.NewHandler(core))})
	r, err := d.Claim(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	_, taken := d.Claim(t.Context(), reward.Claim{Family: family, Reward: "welcome", Member: other})
	_, doubt := desk(t, b, &listening{refuse: true}, reward.Options{}).Claim(t.Context(),
		reward.Claim{Family: family, Reward: "summer", Member: member})
	_, bad := d.Claim(t.Context(), reward.Claim{Family: family + "!", Reward: "welcome", Member: member + "!"})
	if taken == nil || doubt == nil || bad == nil {
		t.Fatal(taken, doubt, bad)
	}
	var said strings.Builder
	for _, v := range []any{claim, r, taken, doubt, bad} {
		fmt.Fprintf(&said, "%v %+v %#v %s\n", v, v, v, v)
	}
	fmt.Fprintln(&said, store.keys)
	zap.New(core).Info("x", zap.Any("claim", claim), zap.Any("record", r), zap.Error(taken))
	for _, h := range []slog.Handler{slog.NewJSONHandler(&said, nil), slog.NewTextHandler(&said, nil)} {
		slog.New(h).Info("x", "claim", claim, "record", r, "err", taken)
	}
	for _, l := range logs.All() {
		fmt.Fprintln(&said, l.Message, l.ContextMap())
	}
	for _, secret := range []string{family, member, other} {
		if strings.Contains(said.String(), secret) {
			t.Errorf("%s can be read in\n%s", secret, &said)
		}
	}
	if n := logs.FilterMessage("reward recorded").Len(); n != 1 || !strings.Contains(said.String(), "family:fa****") {
		t.Errorf("%d lines of the log; said\n%s", n, &said)
	}
}

// listening is a store of locks that remembers the keys, or has no answer but that
// of a lock that is held.
type listening struct {
	*memlock.Store
	keys   []string
	refuse bool
}

func (l *listening) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if l.refuse {
		return driver.Grant{}, &lock.ArgumentError{Argument: "key", Value: a.Key}
	}
	l.keys = append(l.keys, a.Key)
	return l.Store.Wait(ctx, a)
}
