package reward_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/jobs/reward"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/memlock"
)

const family, welcome = "family-4711", "welcome"

// A reward's life, each step asked twice: the second time nothing changes and nothing is
// handed over again.
func TestLife(t *testing.T) {
	onDatabases(t, func(t *testing.T, db *sql.DB, dialect reward.Dialect) {
		b := open(t, db, dialect)
		handed := 0
		d := desk(t, b, new(memlock.Store), reward.Options{OfferedOnly: true, Hand: func(_ context.Context, r reward.Record) error {
			handed++
			if r.State != reward.Claimed || r.Member != "member-1" {
				t.Errorf("handed over is %+v", r)
			}
			return nil
		}})
		claim := reward.Claim{Family: family, Reward: welcome, Member: "member-1"}
		step := func(name string, want error, do func() (reward.Record, error)) reward.Record {
			t.Helper()
			first, err := do()
			if !errors.Is(err, want) {
				t.Fatalf("%s = %v, want %v", name, err, want)
			}
			if again, err := do(); !errors.Is(err, want) || again != first {
				t.Errorf("%s again = %+v, %v, the first time %+v", name, again, err, first)
			}
			return first
		}
		offer := func() (reward.Record, error) { return d.Offer(t.Context(), family, welcome) }
		take := func() (reward.Record, error) { return d.Claim(t.Context(), claim) }
		deliver := func() (reward.Record, error) { return d.Deliver(t.Context(), family, welcome) }
		withdraw := func() (reward.Record, error) { return d.Withdraw(t.Context(), family, welcome) }

		step("claim of what was not offered", reward.ErrNotOffered, take)
		step("delivery of nothing", reward.ErrNoReward, deliver)
		step("withdrawal of nothing", reward.ErrNoReward, withdraw)
		if r := step("offer", nil, offer); r.State != reward.Offered || r.Offered.IsZero() || !r.At.IsZero() || r.Member != "" {
			t.Errorf("offered it is %+v", r)
		}
		step("delivery before the claim", reward.ErrNotClaimed, deliver)
		claimed := step("claim", nil, take)
		if claimed.State != reward.Claimed || claimed.Member != "member-1" || claimed.At.IsZero() || claimed.Fence == 0 {
			t.Errorf("claimed it is %+v", claimed)
		}
		if r := step("offer of what is claimed", nil, offer); r != claimed {
			t.Errorf("offered again it is %+v, was %+v", r, claimed)
		}
		if r := step("delivery", nil, deliver); r.State != reward.Delivered || r.Delivered.IsZero() || r.Member != "member-1" || r.Fence != claimed.Fence || handed != 1 {
			t.Errorf("delivered it is %+v, handed over %d times", r, handed)
		}
		step("withdrawal of what is delivered", reward.ErrDelivered, withdraw)
		if r, err := take(); err != nil || r.State != reward.Delivered {
			t.Errorf("claimed again by the same member: %+v, %v", r, err)
		}
		claim.Member = "member-2"
		if _, err := take(); err == nil {
			t.Error("another member has it")
		}

		for _, name := range []string{"a-offered", "b-claimed"} {
			if _, err := d.Offer(t.Context(), family, name); err != nil {
				t.Fatal(err)
			}
			c := reward.Claim{Family: family, Reward: name, Member: "member-1"}
			if name == "b-claimed" {
				if _, err := d.Claim(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			if r, err := d.Withdraw(t.Context(), family, name); err != nil || r.State != reward.Withdrawn || r.Withdrawn.IsZero() {
				t.Errorf("withdrawn it is %+v, %v", r, err)
			}
			_, claimErr := d.Claim(t.Context(), c)
			_, deliverErr := d.Deliver(t.Context(), family, name)
			if r, err := d.Offer(t.Context(), family, name); err != nil || r.State != reward.Withdrawn ||
				!errors.Is(claimErr, reward.ErrWithdrawn) || !errors.Is(deliverErr, reward.ErrWithdrawn) {
				t.Errorf("%s after its end: %+v, %v, %v, %v", name, r, err, claimErr, deliverErr)
			}
		}
		var names []string
		for after := ""; ; {
			page, err := b.List(t.Context(), family, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				names = append(names, r.Reward+" "+string(r.State))
				after = r.Reward
			}
			if len(page) < 2 {
				break
			}
		}
		if got := strings.Join(names, ", "); got != "a-offered withdrawn, b-claimed withdrawn, welcome delivered" {
			t.Errorf("the family has %s", got)
		}
		if other, err := b.List(t.Context(), "family-0000", "", 10); err != nil || len(other) > 0 {
			t.Errorf("another family has %v, %v", other, err)
		}
	})
}

// Five members claim what was offered, and five processes deliver it, all at once: one has
// it, and it is handed over once.
func TestLifeAtOnce(t *testing.T) {
	onDatabases(t, func(t *testing.T, db *sql.DB, dialect reward.Dialect) {
		b := open(t, db, dialect)
		var store memlock.Store
		var handed atomic.Int32
		options := reward.Options{OfferedOnly: true, Hand: func(context.Context, reward.Record) error {
			handed.Add(1)
			return nil
		}}
		if _, err := desk(t, b, &store, options).Offer(t.Context(), family, welcome); err != nil {
			t.Fatal(err)
		}
		wantOne(t, b, together(t, func(string) *reward.Desk { return desk(t, b, &store, options) }))
		var all sync.WaitGroup
		for range 5 {
			d := desk(t, b, &store, options)
			all.Go(func() {
				if r, err := d.Deliver(t.Context(), family, welcome); err != nil || r.State != reward.Delivered {
					t.Errorf("delivered: %+v, %v", r, err)
				}
			})
		}
		all.Wait()
		if n := rows(t, db); n != 1 || handed.Load() != 1 {
			t.Errorf("%d records, handed over %d times, want one and once", n, handed.Load())
		}
	})
}

// A process is stopped inside its claim of an offered reward, beyond its lease; the reward is
// withdrawn; when it wakes up it changes nothing.
func TestPausedLife(t *testing.T) {
	onDatabases(t, func(t *testing.T, db *sql.DB, dialect reward.Dialect) {
		b := open(t, db, dialect)
		var store memlock.Store
		reached, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		slow := desk(t, b, &store, reward.Options{Prepare: func(context.Context, reward.Claim) error {
			close(reached)
			<-goOn
			return nil
		}})
		quick := desk(t, b, &store, reward.Options{})
		if _, err := quick.Offer(t.Context(), family, welcome); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := slow.Claim(t.Context(), reward.Claim{Family: family, Reward: welcome, Member: "member-1"})
			ended <- err
		}()
		await(t, reached)
		store.Forget() // in place of the time that it was stopped for
		if _, err := quick.Withdraw(t.Context(), family, welcome); err != nil {
			t.Fatal(err)
		}
		close(goOn)
		if err := await(t, ended); !errors.Is(err, reward.ErrWithdrawn) && !errors.Is(err, guard.ErrStale) {
			t.Errorf("the paused one got %v", err)
		}
		if r, _, err := b.Find(t.Context(), family, welcome); err != nil || r.State != reward.Withdrawn || r.Member != "" {
			t.Errorf("it is %+v, %v", r, err)
		}
	})
}

// The hand-over fails: the reward stays claimed, and can be delivered later.
func TestHandFails(t *testing.T) {
	b := open(t, sqlite(t), reward.SQLite)
	broken := errors.New("no parcel service")
	d := desk(t, b, new(memlock.Store), reward.Options{Hand: func(context.Context, reward.Record) error {
		defer func() { broken = nil }()
		return broken
	}})
	if _, err := d.Claim(t.Context(), reward.Claim{Family: family, Reward: welcome, Member: "member-1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Deliver(t.Context(), family, welcome); err == nil || !strings.Contains(err.Error(), "no parcel service") {
		t.Errorf("Deliver = %v", err)
	}
	if r, err := d.Deliver(t.Context(), family, welcome); err != nil || r.State != reward.Delivered {
		t.Errorf("Deliver = %+v, %v", r, err)
	}
}

// A record that was written before rewards had a life was claimed. No other state is
// possible.
func TestStatesOfTheTable(t *testing.T) {
	onDatabases(t, func(t *testing.T, db *sql.DB, dialect reward.Dialect) {
		b := open(t, db, dialect)
		insert := "INSERT INTO reward_record (family, reward, member, fence, recorded_at) VALUES ('f', 'r', 'm', 5, 1000)"
		if _, err := db.ExecContext(t.Context(), insert); err != nil {
			t.Fatal(err)
		}
		if r, found, err := b.Find(t.Context(), "f", "r"); !found || err != nil || r.State != reward.Claimed || r.At.UnixMilli() != 1000 {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := db.ExecContext(t.Context(), "UPDATE reward_record SET state = 'lost'"); err == nil {
			t.Error("another state is accepted")
		}
	})
}

func TestHandler(t *testing.T) {
	b := open(t, sqlite(t), reward.SQLite)
	token := "s3cret"
	h := reward.NewHandler(desk(t, b, new(memlock.Store), reward.Options{OfferedOnly: true}), func() string { return token }, nil)
	ask := func(method, path, auth string) (int, map[string]any) {
		t.Helper()
		r := httptest.NewRequest(method, "/families/f-1/rewards"+path, nil)
		r.Header.Set("Authorization", auth)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var body map[string]any
		_ = json.Unmarshal(w.Body.Bytes(), &body)
		return w.Code, body
	}
	for _, c := range []struct {
		method, path string
		status       int
		field, want  string
	}{
		{"GET", "", 200, "", ""},
		{"GET", "/tea", 404, "type", "urn:cronce:reward:unknown"},
		{"POST", "/tea/claims/ada", 409, "type", "urn:cronce:reward:not-offered"},
		{"POST", "/tea/delivery", 404, "type", "urn:cronce:reward:unknown"},
		{"PUT", "/tea", 200, "state", "offered"},
		{"POST", "/tea/delivery", 409, "type", "urn:cronce:reward:not-claimed"},
		{"POST", "/tea/claims/ada", 200, "member", "ada"},
		{"POST", "/tea/claims/ada", 200, "state", "claimed"},
		{"POST", "/tea/claims/bob", 409, "member", "ada"},
		{"POST", "/tea/delivery", 200, "state", "delivered"},
		{"POST", "/tea/delivery", 200, "state", "delivered"},
		{"DELETE", "/tea", 409, "type", "urn:cronce:reward:delivered"},
		{"PUT", "/cup", 200, "state", "offered"},
		{"GET", "?limit=1", 200, "next", "cup"},
		{"DELETE", "/cup", 200, "state", "withdrawn"},
		{"POST", "/cup/claims/ada", 409, "type", "urn:cronce:reward:withdrawn"},
		{"PUT", "/a%20b", 422, "type", "urn:cronce:reward:invalid"},
		{"GET", "?limit=x", 422, "type", "urn:cronce:reward:invalid"},
		{"GET", "?after=a%20b", 422, "type", "urn:cronce:reward:invalid"},
		{"PATCH", "/tea", 405, "", ""},
	} {
		status, body := ask(c.method, c.path, "Bearer "+token)
		if got, _ := body[c.field].(string); status != c.status || got != c.want {
			t.Errorf("%s %s: %d %v, want %d, %s %q", c.method, c.path, status, body, c.status, c.field, c.want)
		}
	}
	for _, auth := range []string{"", "Bearer ", "Bearer s3cre", "Basic s3cret", "s3cret"} {
		if status, body := ask("PUT", "/new", auth); status != http.StatusUnauthorized || len(body) != 3 {
			t.Errorf("%q: %d %v, want 401", auth, status, body)
		}
	}
	token = ""
	if status, _ := ask("PUT", "/new", "Bearer "); status != http.StatusUnauthorized {
		t.Errorf("with no token set: %d, want 401", status)
	}
}
