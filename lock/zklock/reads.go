package zklock

import "sync"

// reads are those of queues that are under way. A call that reads a queue while one is
// read takes part in the next read, which begins after it asked: a crowd in one
// process reads its queue a few times, and not once for each of the crowd.
type reads struct {
	mu    sync.Mutex
	byKey map[string]*line
}

// A line is the reads of one queue: the one under way, or just done, and the one to come.
type line struct{ now, next *look }

// A look is one read. What it read is shared, and never changed.
type look struct {
	done  chan struct{}
	queue queue
	err   error
}

// share returns what read returns, called after share was.
func (s *reads) share(key string, read func() (queue, error)) (queue, error) {
	l, before, leads := s.join(key)
	if !leads {
		<-l.done
		return l.queue, l.err
	}
	if before != nil {
		<-before.done // it waits for the server alone
		s.begin(key, l)
	}
	l.queue, l.err = read()
	s.end(key)
	close(l.done)
	return l.queue, l.err
}

// join returns the read to take part in, and whether it is to be led, after another.
func (s *reads) join(key string) (l, before *look, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.byKey[key]
	switch {
	case at == nil:
		l = &look{done: make(chan struct{})}
		if s.byKey == nil {
			s.byKey = make(map[string]*line)
		}
		s.byKey[key] = &line{now: l}
		return l, nil, true
	case at.next == nil:
		at.next = &look{done: make(chan struct{})}
		return at.next, at.now, true
	}
	return at.next, nil, false
}

// begin makes the next read the one under way: a request that comes later waits for another.
func (s *reads) begin(key string, l *look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byKey[key].now, s.byKey[key].next = l, nil
}

// end forgets the line of a key if no request looks any more.
func (s *reads) end(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[key].next == nil {
		delete(s.byKey, key)
	}
}
