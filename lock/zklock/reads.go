package zklock

import "sync"

// reads are the running reads of queues. A call that comes while its queue is read shares the next
// read, which begins after the call: many waiters in one process read their queue a few times, and not
// once for each owner.
type reads struct {
	mu    sync.Mutex
	byKey map[string]*line
}

// A line holds the reads of one queue: the one that runs, or has just ended, and the next one.
type line struct{ now, next *sharedRead }

// A sharedRead is one read. Its result is shared, and never changed.
type sharedRead struct {
	done  chan struct{}
	queue queue
	err   error
}

// share returns the result of a call of read that began after the call of share.
func (s *reads) share(key string, read func() (queue, error)) (queue, error) {
	l, before, leads := s.join(key)
	if !leads {
		<-l.done
		return l.queue, l.err
	}
	if before != nil {
		<-before.done // it waits only for the server
		s.begin(key, l)
	}
	l.queue, l.err = read()
	s.end(key)
	close(l.done)
	return l.queue, l.err
}

// join returns the read to share. If leads is true, the caller must perform it, after before has
// ended.
func (s *reads) join(key string) (l, before *sharedRead, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.byKey[key]
	switch {
	case at == nil:
		l = &sharedRead{done: make(chan struct{})}
		if s.byKey == nil {
			s.byKey = make(map[string]*line)
		}
		s.byKey[key] = &line{now: l}
		return l, nil, true
	case at.next == nil:
		at.next = &sharedRead{done: make(chan struct{})}
		return at.next, at.now, true
	}
	return at.next, nil, false
}

// begin makes the next read the running one: a later request waits for another read.
func (s *reads) begin(key string, l *sharedRead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byKey[key].now, s.byKey[key].next = l, nil
}

// end drops the line of a key if no request waits for another read.
func (s *reads) end(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[key].next == nil {
		delete(s.byKey, key)
	}
}
