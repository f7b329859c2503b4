package redislock

import (
	"context"
	"errors"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
)

// Force implements [driver.Forcer]. It works on a server at maxmemory. The latest 1000 leases that
// were taken are answered with the cause. A lock that more than 10,000 owners share is refused with
// lock.ErrUnsupported.
func (d *Driver) Force(ctx context.Context, f driver.ForceRequest) (driver.ForceRecord, error) {
	keys := append(d.keys.all(f.Key), d.keys.taken(f.Key), d.keys.records(f.Key))
	reply, err := d.run(ctx, d.scripts.force, keys, []any{
		escape(f.ID), escape(f.By), escape(f.Reason), driver.MaxForceRecords, driver.ForceRecordsKept.Milliseconds(), driver.MaxForcedOwners, f.From, f.To,
	})
	if err != nil {
		return driver.ForceRecord{}, fmt.Errorf("redislock: force: %w", err)
	}
	switch many, _ := reply.(int64); {
	case reply == int64(0):
		return driver.ForceRecord{}, driver.ErrFree
	case many > maxHolders:
		return driver.ForceRecord{}, fmt.Errorf("redislock: force: %d owners hold it, and one step takes at most %d: %w", many, maxHolders, driver.ErrUnsupported)
	}
	text, _ := reply.(string)
	made, ok := readForced(text)
	if !ok || made.ID != f.ID {
		return driver.ForceRecord{}, unreadable("force", reply)
	}
	return made, nil
}

// ForceRecords implements [driver.Forcer].
func (d *Driver) ForceRecords(ctx context.Context, key string) ([]driver.ForceRecord, error) {
	reply, err := d.run(ctx, d.scripts.forcings, []string{d.keys.none(key), d.keys.records(key)}, []any{driver.MaxForceRecords, maxForced})
	if err != nil {
		return nil, fmt.Errorf("redislock: forcings: %w", err)
	}
	parts, ok := reply.([]any)
	if !ok || len(parts) > driver.MaxForceRecords {
		return nil, unreadable("forcings", reply)
	}
	var all []driver.ForceRecord
	for _, part := range parts {
		text, _ := part.(string)
		made, ok := readForced(text)
		if !ok {
			made = driver.ForceRecord{Unreadable: text[:min(len(text), shownForced)]}
		}
		all = append(all, made)
	}
	return all, nil
}

const (
	maxForced   = 8192 // bytes of the longest record: an escape is three bytes
	shownForced = 200  // bytes shown of a text that is no record
)

// readForced reads a record: see force.lua.
func readForced(text string) (driver.ForceRecord, bool) {
	f := fields{rest: text + "|"}
	made := driver.ForceRecord{ID: f.raw(f.text()), At: f.count(f.text()), Holders: int(f.count(f.text()))}
	made.By, made.Reason = f.raw(f.text()), f.raw(f.text())
	for f.rest != "" && !f.bad && len(made.Owners) < driver.MaxForcedOwners {
		made.Owners = append(made.Owners, driver.ForcedOwner{Owner: f.text(), Fence: f.count(f.text())})
	}
	asked := driver.ForceRequest{Key: "k", ID: made.ID, By: made.By, Reason: made.Reason}
	return made, !f.bad && f.rest == "" && len(made.Owners) > 0 && made.Holders >= len(made.Owners) && driver.CheckForce(&asked) == nil
}

// why returns how a lease that is not alive was taken, or otherwise if it was not taken. Any other
// error is doubt about that.
func (d *Driver) why(ctx context.Context, h *driver.LeaseRef, otherwise error) error {
	reply, err := d.pipelined(ctx, d.scripts.why, d.whyOf(h))
	return readWhy(reply, err, otherwise)
}

func (d *Driver) whyOf(h *driver.LeaseRef) *request {
	return requestOf([]string{d.keys.none(h.Key), d.keys.taken(h.Key)}, h.Owner, h.Fence)
}

func readWhy(reply any, err, otherwise error) error {
	switch {
	case err != nil:
		return fmt.Errorf("redislock: how a lease was lost: %w", err)
	case reply == "force":
		return driver.ErrForced
	}
	return otherwise
}

// freed returns the answer to a release. Doubt about how a lease was taken is doubt about the
// release: otherwise the repetition of a release would be taken for the answer to an earlier one.
func (d *Driver) freed(ctx context.Context, h *driver.LeaseRef, answer error) error {
	if h.Fence == 0 || !errors.Is(answer, driver.ErrLost) {
		return answer
	}
	return d.why(ctx, h, answer)
}
