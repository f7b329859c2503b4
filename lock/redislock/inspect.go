package redislock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock"
)

// Inspect looks at a plain lock and changes nothing. An error that is not a
// *lock.ArgumentError is doubt.
func (d *Driver) Inspect(ctx context.Context, key string) (lock.Standing, error) {
	if err := lock.CheckKey(key); err != nil {
		return lock.Standing{}, err
	}
	keys := []string{d.keys.lock(key), d.keys.queue(key), d.keys.none(key)}
	reply, err := d.run(ctx, d.scripts.inspect, keys, nil)
	if err != nil {
		return lock.Standing{}, fmt.Errorf("redislock: inspect: %w", err)
	}
	return readStanding(reply)
}

// readStanding reads {places, lock or "", ms left}.
func readStanding(reply any) (lock.Standing, error) {
	parts, _ := reply.([]any)
	if len(parts) != 3 {
		return lock.Standing{}, unreadable("inspect", reply)
	}
	places, ok1 := parts[0].(int64)
	text, ok2 := parts[1].(string)
	ms, ok3 := parts[2].(int64)
	at := lock.Standing{Waiting: int(places)}
	if !ok1 || !ok2 || !ok3 {
		return lock.Standing{}, unreadable("inspect", reply)
	}
	if text == "" || ms <= 0 {
		return at, nil
	}
	i := strings.IndexAny(text, "|?")
	fence, err := strconv.ParseInt(text[:max(i, 0)], 10, 64)
	if err != nil {
		return lock.Standing{}, unreadable("inspect", reply)
	}
	at.Left, at.Owner, at.Fence = time.Duration(ms)*time.Millisecond, text[i+1:], fence
	if text[i] == '?' { // kept for its next owner
		_, at.Owner, _ = strings.Cut(at.Owner, "|")
		at.Fence = 0
	}
	return at, nil
}
