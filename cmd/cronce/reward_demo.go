package main

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
	rewardMembers = 5
	rewardFamily  = "family-4711"
	rewardName    = "welcome"
	rewardPatient = 30 * time.Second
)

// A rewardAnswer is what a member was told.
type rewardAnswer struct {
	Member   string `json:"member"`
	Recorded bool   `json:"recorded"`
	Answer   string `json:"answer"`
}

// A rewardWay is how five members fared in one way.
type rewardWay struct {
	Records int            `json:"records"`
	Worked  int            `json:"worked"` // how many of them the work was done for
	Answers []rewardAnswer `json:"answers"`
}

// A rewardStage is the stores of one demo.
type rewardStage struct {
	folder string
	db     *sql.DB
	redis  *miniredis.Miniredis
	client redis.UniversalClient
}

func openRewardStage() (*rewardStage, error) {
	folder, err := os.MkdirTemp("", "cronce-reward-")
	if err != nil {
		return nil, fmt.Errorf("reward demo: make a folder for SQLite: %w", err)
	}
	s := &rewardStage{folder: folder, redis: miniredis.NewMiniRedis()}
	s.redis.ClockTTL(true) // its leases expire as time passes
	if err := s.redis.StartAddr("127.0.0.1:0"); err != nil {
		s.close()
		return nil, fmt.Errorf("reward demo: start a Redis: %w", err)
	}
	o := &redis.UniversalOptions{Addrs: []string{s.redis.Addr()}}
	redislock.Harden(o)
	redis.SetLogger(quiet{})
	s.client = redis.NewUniversalClient(o)
	if s.db, err = openFile(filepath.Join(folder, "rewards.db")); err != nil {
		s.close()
		return nil, fmt.Errorf("reward demo: open a database: %w", err)
	}
	return s, nil
}

func (s *rewardStage) close() {
	if s.db != nil {
		_ = s.db.Close()
	}
	if s.client != nil {
		_ = s.client.Close()
	}
	s.redis.Close()
	_ = os.RemoveAll(s.folder)
}

// runRewardDemo shows both ways.
func runRewardDemo(ctx context.Context, w io.Writer, output string) error {
	ctx, stop := context.WithTimeout(ctx, rewardPatient)
	defer stop()
	s, err := openRewardStage()
	if err != nil {
		return err
	}
	defer s.close()
	naive, err := s.naive(ctx)
	if err != nil {
		return fmt.Errorf("reward demo: look, then record: %w", err)
	}
	guarded, err := s.guarded(ctx)
	if err != nil {
		return fmt.Errorf("reward demo: with the lock: %w", err)
	}
	ok := guarded.Records == 1 && guarded.recorded() == 1 && naive.Records == rewardMembers
	if output == outputJSON {
		err = terminal.PrintJSON(w, map[string]any{"ok": ok, "members": rewardMembers, "naive": naive, "guarded": guarded})
	} else {
		err = printRewards(w, naive, guarded)
	}
	if err == nil && !ok {
		err = told(exitFailed, "a reward was not recorded once")
	}
	return err
}

// naive lets the members claim with code that looks, then records.
func (s *rewardStage) naive(ctx context.Context) (*rewardWay, error) {
	book, err := newNaiveBook(ctx, s.db, together(ctx, rewardMembers))
	if err != nil {
		return nil, err
	}
	way, err := claimAtOnce(func(member string) (string, error) {
		return "recorded", book.claim(ctx, rewardFamily, rewardName, member)
	})
	if err != nil {
		return nil, err
	}
	way.Worked = way.recorded()
	way.Records, err = book.records(ctx)
	return way, err
}

// guarded lets them claim at desks, each with a Locker of its own, as pods have.
func (s *rewardStage) guarded(ctx context.Context) (*rewardWay, error) {
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
		r, err := desk.Claim(ctx, reward.Claim{Family: rewardFamily, Reward: rewardName, Member: member})
		return fmt.Sprintf("recorded at %s, fence %d", r.At.Format("15:04:05.000"), r.Fence), err
	})
	if err != nil {
		return nil, err
	}
	way.Worked = worked
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM reward_record").Scan(&way.Records)
	return way, err
}

// claimAtOnce lets all members claim, and fails if one was told neither yes nor no.
func claimAtOnce(claim func(member string) (string, error)) (*rewardWay, error) {
	way := &rewardWay{Answers: make([]rewardAnswer, rewardMembers)}
	errs := make([]error, rewardMembers)
	door := make(chan struct{})
	var wg sync.WaitGroup
	for i := range rewardMembers {
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
			case errors.Is(err, errRewardTaken):
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

func (w *rewardWay) recorded() (n int) {
	for _, a := range w.Answers {
		if a.Recorded {
			n++
		}
	}
	return n
}

func printRewards(w io.Writer, naive, guarded *rewardWay) error {
	fmt.Fprintf(w, "%d members of %s claim the reward %q at the same moment. Times are UTC.\n\n", rewardMembers, rewardFamily, rewardName)
	for _, way := range []struct {
		title string
		*rewardWay
	}{
		{"Look, then record; no lock, no unique key:", naive},
		{"Package jobs/reward: a lock on family and reward, and a unique key behind it:", guarded},
	} {
		fmt.Fprintln(w, way.title)
		for _, a := range way.Answers {
			fmt.Fprintf(w, "  %s  %s\n", a.Member, a.Answer)
		}
		fmt.Fprintf(w, "  %s, %s; the work before it was done %s.\n\n", terminal.Plural(way.Records, "record"),
			terminal.Plural(rewardMembers-way.recorded(), "refusal"), terminal.Plural(way.Worked, "time"))
	}
	_, err := fmt.Fprintln(w, "In a log, or in the text of an error, families and members are masked.")
	return err
}
