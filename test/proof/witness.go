package proof

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const ledger = "ledger"

//go:embed append.lua
var appendSource string

var scriptAppend = redis.NewScript(appendSource)

// A Witness writes the ledger. It may be used concurrently.
type Witness struct {
	client *redis.Client
	pid    int
	seq    atomic.Int64
}

// NewWitness returns a witness for the process with this id. Its client neither repeats nor abandons a
// request, so that a process that was stopped for seconds does not report a record twice.
func NewWitness(addr string, pid int) *Witness {
	return &Witness{pid: pid, client: redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, ReadTimeout: -1, WriteTimeout: -1, PoolSize: 200, PoolTimeout: time.Hour,
	})}
}

// Tell appends a record. It fails only if the server of the witness is gone.
func (w *Witness) Tell(r Record) error {
	_, err := w.append(r, "")
	return err
}

// Write writes to the guarded resource of the record's job and reports whether the resource accepted
// the fence.
func (w *Witness) Write(r Record) (accepted bool, err error) {
	return w.append(r, strconv.FormatInt(r.Fence, 10))
}

func (w *Witness) append(r Record, fence string) (bool, error) {
	r.Pid, r.Seq = w.pid, w.seq.Add(1)
	text, err := json.Marshal(r)
	if err != nil {
		return false, fmt.Errorf("proof: tell: %w", err)
	}
	n, err := scriptAppend.Run(context.Background(), w.client, []string{ledger, "guard:" + r.Job}, text, fence).Int()
	if err != nil {
		return false, fmt.Errorf("proof: tell the witness: %w", err)
	}
	return n == 1, nil
}

// Follow calls f with each record of the ledger, in order, until ctx ends.
func (w *Witness) Follow(ctx context.Context, f func(Record)) error {
	last := "0"
	for ctx.Err() == nil {
		streams, err := w.client.XRead(ctx, &redis.XReadArgs{Streams: []string{ledger, last}, Block: 100 * time.Millisecond}).Result()
		switch {
		case errors.Is(err, redis.Nil), ctx.Err() != nil:
			continue
		case err != nil:
			return fmt.Errorf("proof: read the ledger: %w", err)
		}
		for _, m := range streams[0].Messages {
			r, err := decode(m)
			if err != nil {
				return err
			}
			last = m.ID
			f(r)
		}
	}
	return nil
}

// Ping sends a PING to the server of the witness.
func (w *Witness) Ping(ctx context.Context) error { return w.client.Ping(ctx).Err() }

// Close closes the connections.
func (w *Witness) Close() error { return w.client.Close() }
