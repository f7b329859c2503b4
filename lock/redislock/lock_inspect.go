package redislock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Inspect implements [driver.Inspector]. An error is doubt.
func (d *Driver) Inspect(ctx context.Context, key string) (driver.KeyState, error) {
	places, all, err := d.inspect(ctx, key)
	if err != nil {
		return driver.KeyState{}, err
	}
	at := driver.KeyState{Waiting: places}
	if len(all) > 0 {
		at.Owner, at.Fence, at.Left = all[0].Owner, all[0].Fence, all[0].Left
	}
	return at, nil
}

// maxHolders is how many owners of a lock one step reads: MANY in shared.lua.
const maxHolders = 10_000

// longest is how far the deadline of a lease may lie ahead, in ms: LONGEST in shared.lua.
const longest = 2 * int64(driver.MaxTTL/time.Millisecond)

// Holders implements [driver.Sharer]. If there are more than 10,000, it returns those whose time
// ends first. An error is doubt.
func (d *Driver) Holders(ctx context.Context, key string) ([]driver.Holder, error) {
	_, all, err := d.inspect(ctx, key)
	return all, err
}

// inspect returns how many places the queue has and the holders of the lock.
func (d *Driver) inspect(ctx context.Context, key string) (places int, all []driver.Holder, err error) {
	reply, err := d.run(ctx, d.scripts.inspect, d.keys.all(key)[:5], []any{maxHolders})
	if err != nil {
		return 0, nil, fmt.Errorf("redislock: inspect: %w", err)
	}
	places, all, ok := readStanding(reply)
	if !ok {
		return 0, nil, unreadable("inspect", reply)
	}
	return places, all, nil
}

// readStanding reads {places, lock or "", ms left, ms, then the owner and the holder's text of each
// that shares the lock}.
func readStanding(reply any) (places int, all []driver.Holder, ok bool) {
	parts, _ := reply.([]any)
	if len(parts) < 4 || len(parts)%2 != 0 {
		return 0, nil, false
	}
	queued, ok1 := parts[0].(int64)
	text, ok2 := parts[1].(string)
	left, ok3 := parts[2].(int64)
	clock, ok4 := parts[3].(string)
	now, err := strconv.ParseInt(clock, 10, 64)
	switch {
	case !ok1 || !ok2 || !ok3 || !ok4 || err != nil || left == -1: // a lock always expires
		return 0, nil, false
	case left <= 0 || strings.Trim(text, "0123456789") == "": // a fence alone is a lock that was freed
		return int(queued), nil, true
	case text[0] == '+':
		all, ok = readHolders(parts[4:], now)
	default:
		all, ok = readAlone(text, time.Duration(left)*time.Millisecond)
	}
	return int(queued), all, ok
}

// readAlone reads fence|owner, or fence?inbox|owner of a lock that is only reserved.
func readAlone(text string, left time.Duration) ([]driver.Holder, bool) {
	i := strings.IndexAny(text, "|?")
	if i < 0 {
		return nil, false
	}
	fence, err := strconv.ParseInt(text[:i], 10, 64)
	h := driver.Holder{Owner: text[i+1:], Fence: fence, Left: left, Limit: 1}
	if text[i] == '?' {
		h.Fence = 0
		_, h.Owner, _ = strings.Cut(h.Owner, "|")
	}
	return []driver.Holder{h}, err == nil
}

// readHolders reads the owners that share a lock, without those whose time is over, in the order of
// their grants; owners for which a place is reserved come last.
func readHolders(parts []any, now int64) ([]driver.Holder, bool) {
	var all, kept []driver.Holder
	for pair := range slices.Chunk(parts, 2) {
		owner, ok1 := pair[0].(string)
		text, ok2 := pair[1].(string)
		if text == "" { // it has only a deadline
			continue
		}
		f := fields{rest: text}
		h := driver.Holder{Owner: owner, Fence: f.count(f.text())}
		left := f.count(f.text()) - now
		h.Left, h.Limit = time.Duration(left)*time.Millisecond, int(f.count(f.text()))
		inbox := f.end()
		switch {
		case !ok1 || !ok2 || f.bad:
			return nil, false
		case left > longest: // longer than any lease: see LONGEST in shared.lua
		case left > 0 && inbox == "":
			all = append(all, h)
		case left > 0:
			kept = append(kept, h)
		}
	}
	order := func(a, b driver.Holder) int { return cmp.Compare(a.Fence, b.Fence) }
	slices.SortFunc(all, order)
	slices.SortFunc(kept, order)
	for i := range kept {
		kept[i].Fence = 0 // it was the place in the order
	}
	return append(all, kept...), true
}
