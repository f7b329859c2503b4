// Package rewarddemo lets five members of a family claim one reward at the same moment: with code
// that reads and then records, and with package jobs/reward.
package rewarddemo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/reward"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

const (
	members  = 5
	family   = "family-4711"
	offered  = "welcome"
	patience = 30 * time.Second
)

// An Answer is the answer to a member.
type Answer struct {
	Member   string `json:"member"`
	Recorded bool   `json:"recorded"`
	Answer   string `json:"answer"`
}

// A Way is the result of five claims with one implementation.
type Way struct {
	Records int      `json:"records"`
	Worked  int      `json:"worked"` // number of members for which the work was done
	Answers []Answer `json:"answers"`
}

// The stores of one demonstration.
type stores struct {
	folder string
	db     *sql.DB
	redis  *miniredis.Miniredis
	client redis.UniversalClient
}

func openStores(openFile func(name string) (*sql.DB, error)) (*stores, error) {
	folder, err := os.MkdirTemp("", "cronce-reward-")
	if err != nil {
		return nil, fmt.Errorf("reward demo: make a folder for SQLite: %w", err)
	}
	s := &stores{folder: folder, redis: miniredis.NewMiniRedis()}
	s.redis.ClockTTL(true) // leases expire with the real time
	if err := s.redis.StartAddr("127.0.0.1:0"); err != nil {
		s.close()
		return nil, fmt.Errorf("reward demo: start a Redis: %w", err)
	}
	o := &redis.UniversalOptions{Addrs: []string{s.redis.Addr()}}
	redislock.Harden(o)
	s.client = redis.NewUniversalClient(o)
	if s.db, err = openFile(filepath.Join(folder, "rewards.db")); err != nil {
		s.close()
		return nil, fmt.Errorf("reward demo: open a database: %w", err)
	}
	return s, nil
}

func (s *stores) close() {
	if s.db != nil {
		_ = s.db.Close()
	}
	if s.client != nil {
		_ = s.client.Close()
	}
	s.redis.Close()
	_ = os.RemoveAll(s.folder)
}

// ErrNotOnce is the error of a demonstration with another result than expected: one record with the
// lock, and one record per member without it.
var ErrNotOnce = errors.New("a reward was not recorded once")

// Run runs both implementations and prints the results to w, as JSON if asJSON is set. OpenFile
// opens an SQLite file. It returns ErrNotOnce after it has printed everything.
func Run(ctx context.Context, w io.Writer, asJSON bool, openFile func(name string) (*sql.DB, error)) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	s, err := openStores(openFile)
	if err != nil {
		return err
	}
	defer s.close()
	naive, err := s.naive(ctx)
	if err != nil {
		return fmt.Errorf("reward demo: read, then record: %w", err)
	}
	guarded, err := s.guarded(ctx)
	if err != nil {
		return fmt.Errorf("reward demo: with the lock: %w", err)
	}
	ok := guarded.Records == 1 && guarded.Recorded() == 1 && naive.Records == members
	if asJSON {
		err = terminal.PrintJSON(w, map[string]any{"ok": ok, "members": members, "naive": naive, "guarded": guarded})
	} else {
		err = printWays(w, naive, guarded)
	}
	if err == nil && !ok {
		err = ErrNotOnce
	}
	return err
}

// naive lets the members claim with code that reads, then records.
func (s *stores) naive(ctx context.Context) (*Way, error) {
	book, err := newNaiveBook(ctx, s.db, together(ctx, members))
	if err != nil {
		return nil, err
	}
	way, err := claimAtOnce(func(member string) (string, error) {
		return "recorded", book.claim(ctx, family, offered, member)
	})
	if err != nil {
		return nil, err
	}
	way.Worked = way.Recorded()
	way.Records, err = book.records(ctx)
	return way, err
}

// guarded lets the members claim at desks with a Locker each, as in separate pods.
func (s *stores) guarded(ctx context.Context) (*Way, error) {
	book, err := reward.Open(ctx, s.db, reward.SQLite)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	worked := 0
	work := func(context.Context, reward.Claim) error {
		mu.Lock()
		defer mu.Unlock()
		worked++
		return nil
	}
	way, err := claimAtOnce(func(member string) (string, error) {
		d, err := redislock.New(s.client, redislock.Options{Namespace: "reward-demo"})
		if err != nil {
			return "", err
		}
		defer d.Close()
		desk, err := reward.NewDesk(book, lock.New(d, ""), reward.Options{Prepare: work})
		if err != nil {
			return "", err
		}
		r, err := desk.Claim(ctx, reward.Claim{Family: family, Reward: offered, Member: member})
		return fmt.Sprintf("recorded at %s, fence %d", r.At.Format("15:04:05.000"), r.Fence), err
	})
	if err != nil {
		return nil, err
	}
	way.Worked = worked
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM reward_record").Scan(&way.Records)
	return way, err
}

// claimAtOnce lets all members claim at once, and fails if a claim ends in doubt.
func claimAtOnce(claim func(member string) (string, error)) (*Way, error) {
	way := &Way{Answers: make([]Answer, members)}
	errs := make([]error, members)
	door := make(chan struct{})
	var wg sync.WaitGroup
	for i := range members {
		wg.Go(func() {
			<-door
			a := &way.Answers[i]
			a.Member = fmt.Sprintf("member-%d", i+1)
			said, err := claim(a.Member)
			taken, refused := errors.AsType[*reward.TakenError](err)
			switch {
			case err == nil:
				a.Recorded, a.Answer = true, said
			case refused:
				a.Answer = fmt.Sprintf("refused: %s has it since %s", taken.Member, taken.At.Format("15:04:05.000"))
			case errors.Is(err, errTaken):
				a.Answer = err.Error()
			default:
				errs[i] = err
			}
		})
	}
	close(door)
	wg.Wait()
	return way, errors.Join(errs...)
}

// Recorded returns the number of members whose claim was recorded.
func (w *Way) Recorded() (n int) {
	for _, a := range w.Answers {
		if a.Recorded {
			n++
		}
	}
	return n
}

func printWays(w io.Writer, naive, guarded *Way) error {
	fmt.Fprintf(w, "%d members of %s claim the reward %q at the same moment. Times are UTC.\n\n", members, family, offered)
	for _, way := range []struct {
		title string
		*Way
	}{
		{"Read, then record; no lock, no unique key:", naive},
		{"Package jobs/reward: a lock on family and reward, and a unique key behind it:", guarded},
	} {
		fmt.Fprintln(w, way.title)
		for _, a := range way.Answers {
			fmt.Fprintf(w, "  %s  %s\n", a.Member, a.Answer)
		}
		fmt.Fprintf(w, "  %s, %s; the work before it was done %s.\n\n", terminal.Plural(way.Records, "record"),
			terminal.Plural(members-way.Recorded(), "refusal"), terminal.Plural(way.Worked, "time"))
	}
	_, err := fmt.Fprintln(w, "In a log, or in the text of an error, families and members are masked.")
	return err
}
