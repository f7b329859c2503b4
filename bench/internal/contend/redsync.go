package contend

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/jonboulle/clockwork"
)

// startRedsync returns one node of gocron with a locker over redsync that tries once, as gocron's
// own Redis locker does.
func startRedsync(s Setup, node int, work Work) (func(context.Context) error, error) {
	client := s.usual()
	clock := skewedClock{clockwork.NewRealClock(), s.skewOf(node)}
	l := &locker{redsync.New(goredis.NewPool(client)), clock, map[string]*atomic.Int64{}}
	scheduler, err := gocron.NewScheduler(gocron.WithLocation(time.UTC), gocron.WithClock(clock), gocron.WithDistributedLocker(l))
	if err != nil {
		return nil, err
	}
	for j := range s.Jobs {
		asked := new(atomic.Int64)
		l.asked[jobName(j)] = asked
		task := gocron.NewTask(func() { work(node, j, time.UnixMilli(asked.Load()).Truncate(s.Every)) })
		if _, err := scheduler.NewJob(s.definition(), task, gocron.WithName(jobName(j))); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		defer client.Close()
		scheduler.Start()
		<-ctx.Done()
		return scheduler.Shutdown()
	}, nil
}

func (s *Setup) definition() gocron.JobDefinition {
	if s.Aligned {
		return gocron.CronJob(s.spec(), true)
	}
	return gocron.DurationJob(s.Every)
}

// A locker is gocron's distributed locker over redsync. It records when each job requested its
// lock, on the node's clock, because gocron does not pass its tick to a job.
type locker struct {
	redsync *redsync.Redsync
	clock   skewedClock
	asked   map[string]*atomic.Int64 // Unix ms, by job
}

// early allows for a timer that fires a moment before its instant.
const early = 2 * time.Millisecond

// Lock tries once.
func (l *locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	l.asked[key].Store(l.clock.Now().Add(early).UnixMilli())
	m := l.redsync.NewMutex(key, redsync.WithTries(1), redsync.WithExpiry(lockTTL))
	if err := m.LockContext(ctx); err != nil {
		return nil, err
	}
	return held{m}, nil
}

type held struct{ mutex *redsync.Mutex }

// Unlock frees the key.
func (h held) Unlock(ctx context.Context) error {
	_, err := h.mutex.UnlockContext(ctx)
	return err
}

// A skewedClock is the clock of a node with a wrong time.
type skewedClock struct {
	clockwork.Clock
	skew time.Duration
}

// Now returns the time on this node's clock.
func (c skewedClock) Now() time.Time { return c.Clock.Now().Add(c.skew) }

// Since returns the time since t on the same clock.
func (c skewedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until returns the time until t on the same clock.
func (c skewedClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }
