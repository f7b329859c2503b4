package series

import (
	"cmp"
	"context"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/internal/batch"
)

// A Front is a [driver.Front] that also validates requests about series. It is safe for
// concurrent use.
type Front struct{ driver.Front }

// FrontOf returns a Front of any driver. Requests that the driver does not support get
// ErrUnsupported.
func FrontOf(d driver.Driver) Front { return Front{driver.Front{Driver: d}} }

// Open implements [Numbered].
func (f Front) Open(ctx context.Context, os []OpenRequest) []Series {
	d, can := driver.As[Numbered](f.Driver)
	return batch.Send(os, func(o *OpenRequest) error { return cmp.Or(can, o.Check()) },
		func(os []OpenRequest) []Series { return d.Open(ctx, os) },
		func(out *Series, o *OpenRequest, err error) { *out = Series{Key: o.Key, Err: err} })
}

// Claim implements [Numbered].
func (f Front) Claim(ctx context.Context, cs []Claim) []Answer {
	d, can := driver.As[Numbered](f.Driver)
	return batch.Send(cs,
		func(c *Claim) error {
			return cmp.Or(can, c.Check(), f.checkSharding(c.Sharding), f.CheckReplicas(c.Replicas))
		},
		func(cs []Claim) []Answer { return d.Claim(ctx, cs) },
		func(out *Answer, _ *Claim, err error) { out.Err = err })
}

func (f Front) checkSharding(h *Sharding) error {
	if h == nil {
		return nil
	}
	return f.checkShards(h.Shards)
}

// checkShards returns an error for a number that the store cannot divide into n shards.
func (f Front) checkShards(n int) error {
	if n == 0 {
		return nil
	}
	d, can := driver.As[Sharder](f.Driver)
	if can != nil {
		return can
	}
	if most := d.MostShards(); n > most {
		return driver.Refuse("shards", fmt.Sprint(n), fmt.Sprintf("1 to %d on this store", most))
	}
	return nil
}

// RenewRuns implements [Numbered].
func (f Front) RenewRuns(ctx context.Context, rs []RunRef) []RenewAnswer {
	d, can := driver.As[Numbered](f.Driver)
	return batch.Send(rs, func(r *RunRef) error {
		return cmp.Or(can, r.Check(), f.checkShards(r.Shards), f.CheckReplicas(r.Replicas))
	},
		func(rs []RunRef) []RenewAnswer { return d.RenewRuns(ctx, rs) },
		func(out *RenewAnswer, _ *RunRef, err error) { out.Err = err })
}

// ReleaseRuns implements [Numbered].
func (f Front) ReleaseRuns(ctx context.Context, es []EndRequest) []EndAnswer {
	d, can := driver.As[Numbered](f.Driver)
	return batch.Send(es, func(e *EndRequest) error { return cmp.Or(can, e.Check(), f.checkShards(e.Shards)) },
		func(es []EndRequest) []EndAnswer { return d.ReleaseRuns(ctx, es) },
		func(out *EndAnswer, _ *EndRequest, err error) { out.Err = err })
}

// ReadSeries implements [Numbered].
func (f Front) ReadSeries(ctx context.Context, keys []string) []Series {
	d, can := driver.As[Numbered](f.Driver)
	return batch.Send(keys, func(key *string) error { return cmp.Or(can, driver.CheckKey(*key)) },
		func(keys []string) []Series { return d.ReadSeries(ctx, keys) },
		func(out *Series, key *string, err error) { *out = Series{Key: *key, Err: err} })
}

// Control implements [Controlled].
func (f Front) Control(ctx context.Context, c Control) ControlAnswer {
	d, can := driver.As[Controlled](f.Driver)
	if err := cmp.Or(can, c.Check(), f.CheckReplicas(c.Replicas)); err != nil {
		return ControlAnswer{Err: err}
	}
	return d.Control(ctx, c)
}

// Audit implements [Controlled].
func (f Front) Audit(ctx context.Context, key string, n int) ([]AuditRecord, error) {
	d, can := driver.As[Controlled](f.Driver)
	if key != "" {
		can = cmp.Or(can, driver.CheckKey(key))
	}
	if can != nil {
		return nil, can
	}
	return d.Audit(ctx, key, n)
}

// Journal implements [Journaled].
func (f Front) Journal(ctx context.Context, key string, n int) (Journal, error) {
	d, can := driver.As[Journaled](f.Driver)
	if err := cmp.Or(can, driver.CheckKey(key)); err != nil {
		return Journal{}, err
	}
	return d.Journal(ctx, key, n)
}

// KeepOutput implements [OutputKeeper]. It cuts the text: see [OutputText].
func (f Front) KeepOutput(ctx context.Context, o Output) error {
	d, can := driver.As[OutputKeeper](f.Driver)
	if err := cmp.Or(can, o.Check()); err != nil {
		return err
	}
	return d.KeepOutput(ctx, o)
}

// Output implements [OutputKeeper].
func (f Front) Output(ctx context.Context, key string, number int64) (Output, error) {
	d, can := driver.As[OutputKeeper](f.Driver)
	if err := cmp.Or(can, driver.CheckKey(key)); err != nil {
		return Output{}, err
	}
	return d.Output(ctx, key, number)
}

// Beat implements [Membership].
func (f Front) Beat(ctx context.Context, b Beat) (BeatAnswer, error) {
	d, can := driver.As[Membership](f.Driver)
	if err := cmp.Or(can, checkBeat(b)); err != nil {
		return BeatAnswer{}, err
	}
	return d.Beat(ctx, b)
}

// Leave implements [Membership].
func (f Front) Leave(ctx context.Context, node string) error {
	d, can := driver.As[Membership](f.Driver)
	if err := cmp.Or(can, driver.CheckName("node", node)); err != nil {
		return err
	}
	return d.Leave(ctx, node)
}
