// Package batch sends the good ones of many requests.
package batch

// Send sends the requests that check accepts in one batch, and refuses each other one in
// its place.
func Send[Q, A any](qs []Q, check func(*Q) error, send func([]Q) []A, refuse func(*A, *Q, error)) []A {
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
