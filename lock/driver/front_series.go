package driver

import "context"

// Open is that of a [Numbered] driver.
func (f Front) Open(ctx context.Context, os []OpenRequest) []Series {
	d, can := to[Numbered](f)
	return pass(os, func(o *OpenRequest) error { return first(can, CheckOpen(o)) },
		func(os []OpenRequest) []Series { return d.Open(ctx, os) },
		func(out *Series, o *OpenRequest, err error) { *out = Series{Key: o.Key, Err: err} })
}

// Claim is that of a [Numbered] driver.
func (f Front) Claim(ctx context.Context, cs []Claim) []Answer {
	d, can := to[Numbered](f)
	return pass(cs, func(c *Claim) error { return first(can, CheckClaim(c), f.CheckReplicas(c.Replicas)) },
		func(cs []Claim) []Answer { return d.Claim(ctx, cs) },
		func(out *Answer, _ *Claim, err error) { out.Err = err })
}

// RenewRuns is that of a [Numbered] driver.
func (f Front) RenewRuns(ctx context.Context, rs []RunRef) []RenewAnswer {
	d, can := to[Numbered](f)
	return pass(rs, func(r *RunRef) error { return first(can, CheckRunRenewal(r), f.CheckReplicas(r.Replicas)) },
		func(rs []RunRef) []RenewAnswer { return d.RenewRuns(ctx, rs) },
		func(out *RenewAnswer, _ *RunRef, err error) { out.Err = err })
}

// ReleaseRuns is that of a [Numbered] driver.
func (f Front) ReleaseRuns(ctx context.Context, es []EndRequest) []EndAnswer {
	d, can := to[Numbered](f)
	return pass(es, func(e *EndRequest) error { return first(can, CheckEnd(e)) },
		func(es []EndRequest) []EndAnswer { return d.ReleaseRuns(ctx, es) },
		func(out *EndAnswer, _ *EndRequest, err error) { out.Err = err })
}

// ReadSeries is that of a [Numbered] driver.
func (f Front) ReadSeries(ctx context.Context, keys []string) []Series {
	d, can := to[Numbered](f)
	return pass(keys, func(key *string) error { return first(can, CheckKey(*key)) },
		func(keys []string) []Series { return d.ReadSeries(ctx, keys) },
		func(out *Series, key *string, err error) { *out = Series{Key: *key, Err: err} })
}

// Control is that of a [Controlled] driver.
func (f Front) Control(ctx context.Context, c Control) ControlAnswer {
	d, can := to[Controlled](f)
	if err := first(can, CheckControl(&c), f.CheckReplicas(c.Replicas)); err != nil {
		return ControlAnswer{Err: err}
	}
	return d.Control(ctx, c)
}

// Audit is that of a [Controlled] driver.
func (f Front) Audit(ctx context.Context, key string, n int) ([]AuditRecord, error) {
	d, can := to[Controlled](f)
	if key != "" {
		can = first(can, CheckKey(key))
	}
	if can != nil {
		return nil, can
	}
	return d.Audit(ctx, key, n)
}

// Journal is that of a [Journaled] driver.
func (f Front) Journal(ctx context.Context, key string, n int) (Journal, error) {
	d, can := to[Journaled](f)
	if err := first(can, CheckKey(key)); err != nil {
		return Journal{}, err
	}
	return d.Journal(ctx, key, n)
}

// pass sends the requests that check accepts in one batch, and refuses each other one in
// its place.
func pass[Q, A any](qs []Q, check func(*Q) error, send func([]Q) []A, refuse func(*A, *Q, error)) []A {
	var bad map[int]error
	for i := range qs {
		if err := check(&qs[i]); err != nil {
			if bad == nil {
				bad = map[int]error{}
			}
			bad[i] = err
		}
	}
	if bad == nil {
		return send(qs)
	}
	good := make([]Q, 0, len(qs))
	for i := range qs {
		if bad[i] == nil {
			good = append(good, qs[i])
		}
	}
	var answers []A
	if len(good) > 0 {
		answers = send(good)
	}
	out := make([]A, len(qs))
	for i := range qs {
		if err := bad[i]; err != nil {
			refuse(&out[i], &qs[i], err)
			continue
		}
		out[i], answers = answers[0], answers[1:]
	}
	return out
}

// KeepOutput implements [OutputKeeper]. It cuts the text: see [OutputText].
func (f Front) KeepOutput(ctx context.Context, o Output) error {
	d, can := to[OutputKeeper](f)
	if err := first(can, CheckOutput(&o)); err != nil {
		return err
	}
	return d.KeepOutput(ctx, o)
}

// Output implements [OutputKeeper].
func (f Front) Output(ctx context.Context, key string, number int64) (Output, error) {
	d, can := to[OutputKeeper](f)
	if err := first(can, CheckKey(key)); err != nil {
		return Output{}, err
	}
	return d.Output(ctx, key, number)
}
