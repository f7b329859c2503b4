package reward_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/jobs/reward"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/memlock"
)

// Five members claim at once, from five processes: one record, four refusals that
// name the member that has it, and since when, and the work was done for one.
func TestFiveMembers(t *testing.T) {
	onDatabases(t, func(t *testing.T, db *sql.DB, d reward.Dialect) {
		b := open(t, db, d)
		var store memlock.Store
		var prepared atomic.Int32
		answers := together(t, func(string) *reward.Desk {
			return desk(t, b, &store, reward.Options{Prepare: func(context.Context, reward.Claim) error {
				prepared.Add(1)
				return nil
			}})
		})
		wantOne(t, b, answers)
		if n := rows(t, db); n != 1 || prepared.Load() != 1 {
			t.Errorf("%d records, prepared %d times, want one and once", n, prepared.Load())
		}
	})
}

// Without a lock in common all five prepare at the same time, and the database's
// constraint still leaves one record.
func TestConstraintAlone(t *testing.T) {
	onDatabases(t, func(t *testing.T, db *sql.DB, d reward.Dialect) {
		b := open(t, db, d)
		var all sync.WaitGroup
		all.Add(len(members))
		answers := together(t, func(string) *reward.Desk {
			return desk(t, b, new(memlock.Store), reward.Options{Prepare: func(context.Context, reward.Claim) error {
				all.Done()
				all.Wait() // no member writes before all have looked
				return nil
			}})
		})
		// Members of a lower fence may get guard.ErrStale instead.
		for i, a := range answers {
			if errors.Is(a.err, guard.ErrStale) {
				answers[i].record, answers[i].err = desk(t, b, new(memlock.Store), reward.Options{}).Claim(t.Context(),
					reward.Claim{Family: "family-4711", Reward: "welcome", Member: a.member})
			}
		}
		wantOne(t, b, answers)
		if n := rows(t, db); n != 1 {
			t.Errorf("%d records", n)
		}
	})
}

// A holder is stopped beyond its lease, another member gets the lock and looks;
// then the first goes on: it is refused, and the second one records.
func TestPausedHolder(t *testing.T) {
	onDatabases(t, func(t *testing.T, db *sql.DB, d reward.Dialect) {
		b := open(t, db, d)
		var store memlock.Store
		type step struct{ reached, goOn chan struct{} }
		steps := map[string]step{"member-1": {make(chan struct{}), make(chan struct{})}, "member-2": {make(chan struct{}), make(chan struct{})}}
		prepare := func(_ context.Context, c reward.Claim) error {
			close(steps[c.Member].reached)
			<-steps[c.Member].goOn
			return nil
		}
		ended := make(map[string]chan answer)
		for _, member := range []string{"member-1", "member-2"} {
			dk, end := desk(t, b, &store, reward.Options{Prepare: prepare}), make(chan answer, 1)
			ended[member] = end
			go func() {
				r, err := dk.Claim(t.Context(), reward.Claim{Family: "family-4711", Reward: "welcome", Member: member})
				end <- answer{member, r, err}
			}()
			await(t, steps[member].reached)
			store.Forget() // in place of the time that the first one was stopped for
		}
		close(steps["member-1"].goOn)
		if a := await(t, ended["member-1"]); !errors.Is(a.err, guard.ErrStale) {
			t.Errorf("the paused one got %v, %v, want %v", a.record, a.err, guard.ErrStale)
		}
		if n := rows(t, db); n != 0 {
			t.Errorf("the paused one left %d records", n)
		}
		close(steps["member-2"].goOn)
		if a := await(t, ended["member-2"]); a.err != nil || a.record.Member != "member-2" {
			t.Errorf("the next one got %v, %v", a.record, a.err)
		}
	})
}

// Prepare's context ends with the caller's, and nothing is recorded then.
func TestPrepareEnds(t *testing.T) {
	b, ctx := open(t, sqlite(t), reward.SQLite), t.Context()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dk := desk(t, b, new(memlock.Store), reward.Options{Prepare: func(ctx context.Context, _ reward.Claim) error {
		stop()
		await(t, ctx.Done())
		return context.Cause(ctx)
	}})
	c := reward.Claim{Family: "family-7", Reward: "welcome", Member: "member-1"}
	if r, err := dk.Claim(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v, want %v", r, err, context.Canceled)
	}
	if r, found, err := b.Find(t.Context(), c.Family, c.Reward); found || err != nil {
		t.Errorf("%v, %v", r, err)
	}
}

// While one family prepares, another claims the same reward, and the same family another.
func TestFamiliesDoNotWait(t *testing.T) {
	b, store := open(t, sqlite(t), reward.SQLite), new(memlock.Store)
	other := desk(t, b, store, reward.Options{Wait: 5 * time.Second}) // to wait for this family would be an error then
	dk := desk(t, b, store, reward.Options{Prepare: func(ctx context.Context, _ reward.Claim) error {
		for _, c := range []reward.Claim{{Family: "family-8", Reward: "welcome", Member: "a"}, {Family: "family-7", Reward: "summer", Member: "a"}} {
			if _, err := other.Claim(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}})
	if _, err := dk.Claim(t.Context(), reward.Claim{Family: "family-7", Reward: "welcome", Member: "member-1"}); err != nil {
		t.Error(err)
	}
}

// A reward that another member has recorded meanwhile, under a later lease, is logged by
// that one alone.
func TestRecordedIsLoggedOnce(t *testing.T) {
	b, store := open(t, sqlite(t), reward.SQLite), new(memlock.Store)
	core, logs := observer.New(zap.InfoLevel)
	next := desk(t, b, store, reward.Options{Logger: slog.New(zapslog.NewHandler(core))})
	late := desk(t, b, store, reward.Options{Logger: slog.New(zapslog.NewHandler(core)), Prepare: func(context.Context, reward.Claim) error {
		store.Forget() // in place of the time for which this one is stopped
		_, err := next.Claim(t.Context(), reward.Claim{Family: "family-7", Reward: "welcome", Member: "member-2"})
		return err
	}})
	_, err := late.Claim(t.Context(), reward.Claim{Family: "family-7", Reward: "welcome", Member: "member-1"})
	if taken, ok := errors.AsType[*reward.TakenError](err); !ok || taken.Member != "member-2" {
		t.Errorf("%v, want that member-2 has it", err)
	}
	if all := logs.FilterMessage("reward recorded").Len(); all != 1 {
		t.Errorf("logged %d times", all)
	}
}

// The same member gets the same answer again; another reward and another family are
// not touched, and case matters.
func TestClaimAgain(t *testing.T) {
	onDatabases(t, func(t *testing.T, db *sql.DB, d reward.Dialect) {
		dk := desk(t, open(t, db, d), new(memlock.Store), reward.Options{})
		claim := func(family, name, member string) (reward.Record, error) {
			return dk.Claim(t.Context(), reward.Claim{Family: family, Reward: name, Member: member})
		}
		before := time.Now().Add(-time.Minute)
		first, err := claim("family-7", "welcome", "member-1")
		if err != nil || first.Fence == 0 || first.At.Before(before) || first.At.After(time.Now().Add(time.Minute)) {
			t.Fatalf("%v at %v, fence %d, %v", first, first.At, first.Fence, err)
		}
		again, err := claim("family-7", "welcome", "member-1")
		if err != nil || again.String() != first.String() || again.Fence != first.Fence {
			t.Errorf("again: %v, %v, want %v", again, err, first)
		}
		for _, other := range [][2]string{{"Family-7", "welcome"}, {"family-7", "Welcome"}, {"family-7", "summer"}, {"family-8", "welcome"}} {
			if r, err := claim(other[0], other[1], "member-2"); err != nil || r.Member != "member-2" {
				t.Errorf("%v: %v, %v", other, r, err)
			}
		}
		_, err = claim("family-7", "welcome", "Member-1")
		if taken, ok := errors.AsType[*reward.TakenError](err); !ok || taken.Member != "member-1" {
			t.Errorf("another member: %v", err)
		}
	})
}

// Nodes that start at the same moment all find the tables.
func TestOpenTogether(t *testing.T) {
	onDatabases(t, func(t *testing.T, db *sql.DB, d reward.Dialect) {
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if _, err := reward.Open(t.Context(), db, d); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := rows(t, db); n != 0 {
			t.Errorf("%d records", n)
		}
	})
}

// What keeps a claim from its turn, or from being prepared, is no refusal, and
// nothing is recorded.
func TestNoAnswer(t *testing.T) {
	db := sqlite(t)
	b := open(t, db, reward.SQLite)
	var store memlock.Store
	errGift := errors.New("no gift is left")
	inside, goOn := make(chan struct{}), make(chan struct{})
	slow := desk(t, b, &store, reward.Options{Prepare: func(context.Context, reward.Claim) error {
		close(inside)
		<-goOn
		return errGift
	}})
	ended := make(chan error, 1)
	go func() {
		_, err := slow.Claim(t.Context(), reward.Claim{Family: "family-7", Reward: "welcome", Member: "member-1"})
		ended <- err
	}()
	await(t, inside)
	_, err := desk(t, b, &store, reward.Options{Wait: time.Millisecond}).Claim(t.Context(),
		reward.Claim{Family: "family-7", Reward: "welcome", Member: "member-2"})
	if _, taken := errors.AsType[*reward.TakenError](err); taken || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another has the turn: %v", err)
	}
	close(goOn)
	if err := await(t, ended); !errors.Is(err, errGift) {
		t.Errorf("a claim that cannot be prepared: %v", err)
	}
	if n := rows(t, db); n != 0 {
		t.Errorf("%d records", n)
	}
}

func TestRefusedArguments(t *testing.T) {
	b := open(t, sqlite(t), reward.SQLite)
	long := strings.Repeat("a", 65)
	for _, c := range []struct {
		claim reward.Claim
		want  string
	}{
		{reward.Claim{Family: "", Reward: "r", Member: "m"}, `family is "", must be 1 to 64`},
		{reward.Claim{Family: "f", Reward: "a/b", Member: "m"}, `reward is "a/b"`},
		{reward.Claim{Family: "f", Reward: "r", Member: "member one"}, `member is "me****"`},
		{reward.Claim{Family: long, Reward: "r", Member: "m"}, `family is "aa****"`},
	} {
		_, err := desk(t, b, new(memlock.Store), reward.Options{}).Claim(t.Context(), c.claim)
		want(t, err, c.want)
	}
	_, err := reward.Open(t.Context(), nil, reward.SQLite)
	want(t, err, "db is nil")
	_, err = reward.Open(t.Context(), sqlite(t), 9)
	want(t, err, "dialect is 9, must be SQLite, MySQL or PostgreSQL")
	_, err = reward.NewDesk(nil, nil, reward.Options{Wait: -1, TTL: time.Millisecond})
	for _, part := range []string{"book is nil", "locker is nil", "wait is -1ns, must be 0 or more", "ttl is 1ms, must be 500ms to 24h0m0s"} {
		want(t, err, part)
	}
}

func want(t *testing.T, err error, part string) {
	t.Helper()
	if _, ok := errors.AsType[*reward.FieldError](err); !ok || !strings.Contains(fmt.Sprint(err), part) {
		t.Errorf("%v, want %q", err, part)
	}
}
