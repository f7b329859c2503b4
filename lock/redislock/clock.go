package redislock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// Now reads the clock of the server, or of each master of a Cluster, sorted by address. A reading's
// Server is the address that the client was given; behind Sentinel it is the same for every master.
// Masters that do not answer are left out, if at least one does. A reading's Process is the
// server's run id, or empty if the user may not use INFO.
func (d *Driver) Now(ctx context.Context) ([]driver.ClockReading, error) {
	var mu sync.Mutex
	var readings []driver.ClockReading
	err := eachMaster(ctx, d.client, func(ctx context.Context, c redis.UniversalClient) error {
		sent := time.Now()
		reply, err := bounded(ctx, d.prompt, func() (any, error) { return evaluate(ctx, c, d.scripts.now, requestOf(nil)) })
		if err != nil {
			return err
		}
		r, rest, ok := readReading(reply)
		if !ok || len(rest) > 0 {
			return unreadable("now", reply)
		}
		r.Server, r.Sent, r.Received = address(c), sent, time.Now()
		mu.Lock()
		defer mu.Unlock()
		readings = append(readings, r)
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	if len(readings) == 0 && err != nil {
		return nil, fmt.Errorf("redislock: now: %w", err)
	}
	slices.SortFunc(readings, func(a, b driver.ClockReading) int { return strings.Compare(a.Server, b.Server) })
	return readings, nil
}

// readReading reads {us, process, text...}.
func readReading(reply any) (r driver.ClockReading, rest []string, ok bool) {
	texts, ok := readTexts(reply)
	if !ok || len(texts) < 2 {
		return driver.ClockReading{}, nil, false
	}
	us, err := strconv.ParseInt(texts[0], 10, 64)
	return driver.ClockReading{Time: time.UnixMicro(us), Process: texts[1]}, texts[2:], err == nil && us > 0
}

// readTexts reads a reply that is a list of texts.
func readTexts(reply any) ([]string, bool) {
	parts, ok := reply.([]any)
	texts := make([]string, len(parts))
	for i := 0; ok && i < len(parts); i++ {
		texts[i], ok = parts[i].(string)
	}
	return texts, ok
}

// An instant is the store's clock, in microseconds since 1970.
type instant int64

func (t instant) ms() int64 { return int64(t) / 1000 }

// until returns how long it is until a number is due.
func (t instant) until(number int64) time.Duration {
	return max(0, time.Duration(number*1000-int64(t))*time.Microsecond)
}

func readClock(text string) (instant, error) {
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil || us <= 0 {
		return 0, fmt.Errorf("%w: the clock says %.40q", errUnreadable, text)
	}
	return instant(us), nil
}
