package memlock

import "context"

// notices are the keys that one caller of NotifyRuns has yet to get.
type notices struct {
	keys   []string
	raised chan struct{} // has room for one: keys were added
}

// NotifyRuns implements [series.RunNotifier]. It returns the error of ctx.
func (s *Store) NotifyRuns(ctx context.Context, notify func(key string)) error {
	n := &notices{raised: make(chan struct{}, 1)}
	s.mu.Lock()
	if s.notices == nil {
		s.notices = map[*notices]struct{}{}
	}
	s.notices[n] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.notices, n)
	}()
	for {
		select {
		case <-n.raised:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
		keys := n.keys
		n.keys = nil
		s.mu.Unlock()
		for _, key := range keys {
			notify(key)
		}
	}
}

// mostNotices bounds the notices that a caller has not taken.
const mostNotices = 1000

// notify adds a notice for each caller of NotifyRuns. The mutex must be held.
func (s *Store) notify(key string) {
	for n := range s.notices {
		if len(n.keys) < mostNotices {
			n.keys = append(n.keys, key)
		}
		select {
		case n.raised <- struct{}{}:
		default:
		}
	}
}
