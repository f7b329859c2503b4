package schedulertest

import (
	"context"
	"errors"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// ErrKilled is the cause with which a run's context ends when its node is killed. A killed process
// stops a function at once, but this package cannot: the function returns when its context has
// ended, and its result is ignored.
var ErrKilled = errors.New("schedulertest: the node was killed")

// Kill ends the node as SIGKILL does: none of its requests reaches the store any more, so other
// nodes notice its end when its leases expire.
func (n *Node) Kill() {
	n.wire.kill(ErrKilled)
	n.stop()
}

// mortal returns a function whose context ends with the node.
func (n *Node) mortal(f scheduler.Func) scheduler.Func {
	return func(ctx context.Context, run *scheduler.Run) error {
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		defer context.AfterFunc(n.wire.dead, func() { stop(ErrKilled) })()
		return f(ctx, run)
	}
}

// A wire is the connection of one node to the store. Once the node is killed no request reaches the
// store, and none is answered.
type wire struct {
	*memlock.Store
	dead context.Context
	kill context.CancelCauseFunc
}

func newWire(store *memlock.Store) *wire {
	w := &wire{Store: store}
	w.dead, w.kill = context.WithCancelCause(context.Background())
	return w
}

// through sends one request. A request of a killed node returns doubt when its context ends.
func through[T any](ctx context.Context, w *wire, send func() T, doubt func(error) T) T {
	if w.dead.Err() == nil {
		return send()
	}
	<-ctx.Done()
	return doubt(ctx.Err())
}

// each returns the same doubt for each part of a request.
func each[T any](n int, set func(*T, error)) func(error) []T {
	return func(err error) []T {
		all := make([]T, n)
		for i := range all {
			set(&all[i], err)
		}
		return all
	}
}

// A reply is an answer with its error.
type reply[T any] struct {
	value T
	err   error
}

// request is through for a request that returns one answer and an error.
func request[T any](ctx context.Context, w *wire, send func() (T, error)) (T, error) {
	r := through(ctx, w, func() reply[T] {
		v, err := send()
		return reply[T]{v, err}
	}, func(err error) reply[T] { return reply[T]{err: err} })
	return r.value, r.err
}

// The requests about the places of runs in limits.

func (w *wire) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return request(ctx, w, func() (driver.Grant, error) { return w.Store.Acquire(ctx, a) })
}

func (w *wire) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return request(ctx, w, func() (driver.Grant, error) {
		alive, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(w.dead, stop)()
		return w.Store.Wait(alive, a)
	})
}

func (w *wire) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	return request(ctx, w, func() (driver.Grant, error) { return w.Store.Renew(ctx, h) })
}

func (w *wire) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	return through(ctx, w, func() []driver.Renewal { return w.Store.RenewAll(ctx, hs) },
		each(len(hs), func(r *driver.Renewal, err error) { r.Err = err }))
}

func (w *wire) Release(ctx context.Context, h driver.LeaseRef) error {
	return through(ctx, w, func() error { return w.Store.Release(ctx, h) }, func(err error) error { return err })
}

func (w *wire) Open(ctx context.Context, os []series.OpenRequest) []series.Series {
	return through(ctx, w, func() []series.Series { return w.Store.Open(ctx, os) },
		each(len(os), func(s *series.Series, err error) { s.Err = err }))
}

func (w *wire) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	return through(ctx, w, func() []series.Answer { return w.Store.Claim(ctx, cs) },
		each(len(cs), func(a *series.Answer, err error) { a.Err = err }))
}

func (w *wire) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	return through(ctx, w, func() []series.RenewAnswer { return w.Store.RenewRuns(ctx, rs) },
		each(len(rs), func(a *series.RenewAnswer, err error) { a.Err = err }))
}

func (w *wire) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	return through(ctx, w, func() []series.EndAnswer { return w.Store.ReleaseRuns(ctx, es) },
		each(len(es), func(a *series.EndAnswer, err error) { a.Err = err }))
}

func (w *wire) ReadSeries(ctx context.Context, keys []string) []series.Series {
	return through(ctx, w, func() []series.Series { return w.Store.ReadSeries(ctx, keys) },
		each(len(keys), func(s *series.Series, err error) { s.Err = err }))
}

func (w *wire) Peek(ctx context.Context, ps []series.NumberRef, whole bool) ([]*series.Answer, error) {
	return request(ctx, w, func() ([]*series.Answer, error) { return w.Store.Peek(ctx, ps, whole) })
}

func (w *wire) Decided(ctx context.Context, g series.Group) (bool, error) {
	return request(ctx, w, func() (bool, error) { return w.Store.Decided(ctx, g) })
}

func (w *wire) KeepDecided(ctx context.Context, g series.Group) error {
	return through(ctx, w, func() error { return w.Store.KeepDecided(ctx, g) }, func(err error) error { return err })
}

func (w *wire) Now(ctx context.Context) ([]driver.ClockReading, error) {
	return request(ctx, w, func() ([]driver.ClockReading, error) { return w.Store.Now(ctx) })
}

func (w *wire) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	return request(ctx, w, func() (series.BeatAnswer, error) { return w.Store.Beat(ctx, b) })
}

func (w *wire) Leave(ctx context.Context, node string) error {
	return through(ctx, w, func() error { return w.Store.Leave(ctx, node) }, func(err error) error { return err })
}

func (w *wire) Members(ctx context.Context) (series.MemberList, error) {
	return request(ctx, w, func() (series.MemberList, error) { return w.Store.Members(ctx) })
}

func (w *wire) Keys(ctx context.Context) ([]string, error) {
	return request(ctx, w, func() ([]string, error) { return w.Store.Keys(ctx) })
}

func (w *wire) Journal(ctx context.Context, key string, n int) (series.Journal, error) {
	return request(ctx, w, func() (series.Journal, error) { return w.Store.Journal(ctx, key, n) })
}

func (w *wire) Control(ctx context.Context, c series.Control) series.ControlAnswer {
	return through(ctx, w, func() series.ControlAnswer { return w.Store.Control(ctx, c) },
		func(err error) series.ControlAnswer { return series.ControlAnswer{Err: err} })
}

func (w *wire) Audit(ctx context.Context, key string, n int) ([]series.AuditRecord, error) {
	return request(ctx, w, func() ([]series.AuditRecord, error) { return w.Store.Audit(ctx, key, n) })
}

func (w *wire) KeepOutput(ctx context.Context, o series.Output) error {
	return through(ctx, w, func() error { return w.Store.KeepOutput(ctx, o) }, func(err error) error { return err })
}

func (w *wire) Output(ctx context.Context, key string, number int64) (series.Output, error) {
	return request(ctx, w, func() (series.Output, error) { return w.Store.Output(ctx, key, number) })
}
