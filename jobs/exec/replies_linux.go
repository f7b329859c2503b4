package exec

import (
	"encoding/json"
	"net"
	"sync"
	"time"
)

// A replies queue sends replies to the node on a goroutine of its own. A node that is stopped reads
// none, and the warden must still kill processes in time. It has at most as many replies as there
// are runs.
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

// write sends replies until the process ends. The reader of requests notices when the node is gone.
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

// flush waits until all replies are sent, for at most d.
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
