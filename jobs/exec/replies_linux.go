package exec

import (
	"encoding/json"
	"net"
	"sync"
	"time"
)

// A replies queue sends replies to the node on a goroutine of its own: a node that stands still reads
// none, and the warden must go on to kill in time. It has as many replies as there are runs.
type replies struct {
	conn *net.UnixConn
	wake chan struct{}

	mu      sync.Mutex
	waiting []*reply
	sending bool
}

func newReplies(conn *net.UnixConn) *replies {
	return &replies{conn: conn, wake: make(chan struct{}, 1)}
}

func (q *replies) add(r *reply) {
	q.mu.Lock()
	q.waiting = append(q.waiting, r)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// write sends replies until the process ends. A node that is gone is seen by the reader of requests.
func (q *replies) write() {
	for range q.wake {
		for batch := q.take(); len(batch) > 0; batch = q.take() {
			for _, r := range batch {
				if packet, err := json.Marshal(r); err == nil {
					_, _ = q.conn.Write(packet)
				}
			}
		}
	}
}

func (q *replies) take() []*reply {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.waiting
	q.waiting, q.sending = nil, len(batch) > 0
	return batch
}

// flush waits until all replies are sent, for d at most.
func (q *replies) flush(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
		q.mu.Lock()
		done := len(q.waiting) == 0 && !q.sending
		q.mu.Unlock()
		if done {
			return
		}
	}
}
